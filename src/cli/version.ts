/** `cadastre version`. */
import { version } from "../version.ts";
import type { Command } from "./command.ts";

export const versionCommand: Command = {
  name: "version",
  summary: "Print the version",
  run: async ({ terminal }) => terminal.out(version),
};
