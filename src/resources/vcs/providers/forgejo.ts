/** Forgejo: Gitea's language, with its own name in the headers. */
import { ofTheGiteaFamily } from "./gitea.ts";
import type { Provider } from "./provider.ts";

export const forgejo: Provider = ofTheGiteaFamily("forgejo");
