/** The way out: to the provider that signed one in, where it signs people out, too; else to the page of signing in. */
import { paths } from "../../paths.ts";
import { prefix } from "../../ui/link.tsx";

interface Ended {
  readonly data?: { readonly attributes: { readonly "sign-out-url"?: string | null } };
}

export function leave(answer: unknown): void {
  const there = (answer as Ended).data?.attributes["sign-out-url"];
  window.location.assign(there ?? `${prefix}${paths.signIn()}`);
}
