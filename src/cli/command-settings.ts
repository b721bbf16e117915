/** Settings of commands that call another server; neither the server nor the agent has them. */
import { parseToken, parseUrl, type Setting } from "../kernel/settings.ts";

export const commandSettingTable = {
  address: {
    variable: "CADASTRE_ADDRESS",
    shape: "URL",
    doc: "The server to ask over its API, instead of opening the database; needs a token.",
    initially: undefined,
    parse: parseUrl,
  },
  token: {
    variable: "CADASTRE_TOKEN",
    shape: "TOKEN",
    isSecret: true,
    doc: "The token to call that server with. A flag can be seen by everybody on the machine: better by the environment or a file.",
    initially: undefined,
    parse: parseToken,
  },
  importToken: {
    variable: "CADASTRE_IMPORT_TOKEN",
    shape: "TOKEN",
    isSecret: true,
    doc: "The token of the server that an organization is imported from.",
    initially: undefined,
    // Another server's tokens have whatever form it gives them.
    parse: (text) => text,
  },
} as const satisfies Record<string, Setting<string>>;
