/** `cadastre export`: an organization of the register as files that people read. */
import { AppError } from "../kernel/errors.ts";
import { counted, quoted } from "../kernel/text.ts";
import { Door } from "../moving/door.ts";
import { exportOrganization } from "../moving/exporting/export.ts";
import { Missing } from "../moving/wire.ts";
import type { Command } from "./command.ts";
import { contextFor } from "./imports.ts";
import { registerSettings, withRegister } from "./register.ts";

export const exportCommand: Command = {
  name: "export",
  summary: "Write an organization as files: JSON, and HCL for the official provider",
  argument: { shape: "ORGANIZATION", doc: "Which one.", option: "organization" },
  settings: [...registerSettings, "edition", "publicUrl"],
  options: {
    organization: { shape: "NAME", doc: "The same.", required: true },
    to: { shape: "FOLDER", doc: "Where to write: a folder that is empty, or not there yet.", required: true },
  },
  details: [
    "json/ holds a file for each thing. terraform/ holds resources of the official provider with blocks that import them: 'terraform plan' there (Terraform 1.5 or newer) changes nothing. README.md lists what is in no file: sensitive values and keys, which no plan touches.",
    "The provider's hostname is that of --public-url; it needs HTTPS there. States and runs are not in it: 'cadastre backup' has them.",
    "Example: cadastre export acme --to acme-files --public-url https://cadastre.example",
  ],
  async run({ terminal, value, settings: read }) {
    const settings = read();
    const [organization, folder] = [value("organization") ?? "", value("to") ?? ""];
    const hostname = new URL(settings.publicUrl ?? `https://${settings.listen.host}:${settings.listen.port}`).host;
    const { fileCount, writeOnly, beyond } = await withRegister(settings, async (register) => {
      try {
        const origin = new Door(contextFor(register, settings));
        return await exportOrganization({ origin, organization, folder, hostname });
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        throw new AppError("not-found", `There is no organization ${quoted(organization)}.`);
      }
    });
    terminal.out(`Wrote ${counted(fileCount, "file")} to ${folder}.`);
    tellList(terminal.out, "Write-only values, which are in no file:", writeOnly);
    tellList(terminal.out, "Not known to the provider, and so in json/ alone:", beyond);
  },
};

function tellList(out: (line: string) => void, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  out(`\n${title}\n`);
  for (const line of lines) out(`  ${line}`);
}
