/** Where the console begins: the theme, the cache of what was asked, and the pages. */
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./style.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/errors.ts";
import { account, newQueryClient } from "./api/queries.ts";
import { Connection } from "./connection.tsx";
import { paths } from "./paths.ts";
import { newRouter } from "./routes.tsx";
import { theme } from "./theme.ts";

/** Styles that are made while the page runs carry the mark that the policy asks for. */
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce;
// What holds the page still behind a dialog looks for it under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const client = newQueryClient(() => {
  const { pathname, searchStr } = router.state.location;
  if (pathname.startsWith(paths.signIn())) return;
  // Providers send those whom they signed out to this address, which is also the home of an organization of that name.
  const isWayOut = pathname.replace(/\/$/, "") === "/sign-in";
  // Whoever was signed in a moment ago is told why they are asked again.
  const ended = client.getQueryData(account().queryKey) === undefined ? undefined : "yes";
  const href = isWayOut ? `${paths.signIn()}${searchStr}` : paths.signIn(`${pathname}${searchStr}`, ended);
  void router.navigate({ href, replace: isWayOut } as never);
});
const router = newRouter(client);

/** A refusal is shown in place of the page that it concerns; only what nobody expected is a fault of ours. */
const onCaughtError = (error: unknown) => {
  if (!(error instanceof ApiError)) reportError(error);
};

/** The server answers again: whatever is on the page is read anew, and what could not be shown is tried again. */
const onFound = () => {
  void client.invalidateQueries();
  void router.invalidate();
};

createRoot(document.getElementById("root")!, { onCaughtError }).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" {...(nonce && { getStyleNonce: () => nonce })}>
      <QueryClientProvider client={client}>
        <Notifications position="bottom-right" limit={4} />
        <RouterProvider router={router} />
        <Connection onFound={onFound} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
