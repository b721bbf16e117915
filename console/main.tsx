/** The console's entry: theme, query cache and router. */
import "./mantine.css";
import "@mantine/notifications/styles.css";
import "./style.css";
import { localStorageColorSchemeManager, type MantineColorScheme, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/errors.ts";
import { account, newQueryClient } from "./api/queries.ts";
import { Connection } from "./connection.tsx";
import { paths } from "./paths.ts";
import { newRouter } from "./routes.ts";
import { theme } from "./theme.ts";

/** Styles that are created at run time need the nonce of the content security policy. */
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce;
// The scroll lock behind dialogs looks for this name.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const client = newQueryClient(() => {
  const { pathname, searchStr } = router.state.location;
  if (pathname.startsWith(paths.signIn())) return;
  // Identity providers redirect to this address after sign-out; it is also the home of an organization with that name.
  const isSignedOutAddress = pathname.replace(/\/$/, "") === "/sign-in";
  const ended = client.getQueryData(account().queryKey) === undefined ? undefined : "yes";
  const href = isSignedOutAddress ? `${paths.signIn()}${searchStr}` : paths.signIn(`${pathname}${searchStr}`, ended);
  void router.navigate({ href, replace: isSignedOutAddress });
});
const router = newRouter(client);

/** The page shows errors of the API; any other error is a bug. */
const onCaughtError = (error: unknown) => {
  if (!(error instanceof ApiError)) reportError(error);
};

const onFound = () => {
  void client.invalidateQueries();
  void router.invalidate();
};

/** The server reads the cookie, so that the shell in its HTML has the right colours. */
const stored = localStorageColorSchemeManager();
const saveSchemeCookie = (scheme: MantineColorScheme): void => {
  document.cookie = `cadastre_scheme=${scheme}; Path=/app; Max-Age=31536000; SameSite=Lax`;
};
const colorSchemeManager: typeof stored = {
  ...stored,
  set: (scheme) => {
    stored.set(scheme);
    saveSchemeCookie(scheme);
  },
};
// The stored choice may be older than the cookie, or have outlived it.
const chosenScheme = stored.get("auto");
if (chosenScheme !== "auto") saveSchemeCookie(chosenScheme);

function RemoveHtmlShell() {
  useLayoutEffect(() => document.getElementById("frame")?.remove(), []);
  return null;
}

const render = () =>
  createRoot(document.getElementById("root")!, { onCaughtError }).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        colorSchemeManager={colorSchemeManager}
        {...(nonce && { getStyleNonce: () => nonce })}
      >
        <QueryClientProvider client={client}>
          <RemoveHtmlShell />
          <Notifications position="bottom-right" limit={4} />
          <RouterProvider router={router} />
          <Connection onFound={onFound} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );

// The shell in the HTML stays until the first page is loaded. No top-level `await`: the pages' chunks import this file.
void router
  .load()
  .catch(() => undefined)
  .then(render);
