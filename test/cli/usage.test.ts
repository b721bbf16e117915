/** The help of the command line, and one line for each usage error. */
import { describe, expect, test } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { flagOf } from "../../src/kernel/settings.ts";
import { settingTable } from "../../src/settings.ts";
import { version } from "../../src/version.ts";
import { cadastre } from "./support.ts";

describe("help", () => {
  test.each([[[]], [["help"]], [["--help"]], [["-h"]], [["help", "--help"]]])(
    "%j lists every command",
    async (words) => {
      const { code, out, err } = await cadastre(words);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      for (const command of commands) expect(out).toContain(`  ${command.name} `);
    },
  );

  test.each(commands.map((command) => [command.name, command] as const))(
    "of '%s' lists its options, with --help and with help",
    async (name, command) => {
      const { code, out } = await cadastre([...name.split(" "), "--help"]);
      expect(code).toBe(0);
      expect(out).toContain(`Usage: cadastre ${name}`);
      for (const option of Object.keys(command.options ?? {})) expect(out).toContain(`--${option}`);
      for (const setting of command.settings ?? []) expect(out).toContain(settingTable[setting].variable);
      expect(await cadastre(["help", ...name.split(" ")])).toEqual({ code: 0, out, err: "" });
    },
  );

  test("of 'serve' lists every setting with flag, variable, shape, default and meaning", async () => {
    const { out } = await cadastre(["serve", "--help"]);
    const text = out.replace(/\s+/g, " ");
    for (const [name, { variable, shape, doc, initially }] of Object.entries(settingTable)) {
      expect(text).toContain(`${flagOf(name)} ${shape} ${doc} ${variable}`);
      if (initially !== undefined) expect(text).toContain(`${variable} (default: ${initially})`);
    }
  });

  test("of a group lists its commands", async () => {
    const { code, out } = await cadastre(["token", "--help"]);
    expect(code).toBe(0);
    expect(out).toMatch(/token create[\s\S]*token list[\s\S]*token revoke ID/);
    expect((await cadastre(["help", "token"])).out).toBe(out);
  });

  test("takes precedence over other usage errors", async () => {
    expect((await cadastre(["token", "revoke", "--help"])).code).toBe(0);
  });
});

test.each([["version"], ["--version"], ["-v"]])("%s prints the version", async (word) => {
  expect(await cadastre([word])).toEqual({ code: 0, out: version, err: "" });
});

describe("a usage error", () => {
  test.each([
    ["destroy", "Unknown command 'destroy'. Run 'cadastre help' for a list of commands."],
    ["--database x", "Unknown command '--database'. Run 'cadastre help' for a list of commands."],
    ["help destroy", "Unknown command 'destroy'. Run 'cadastre help' for a list of commands."],
    ["user", "'cadastre user' needs one of these commands: create, set-password, list. See 'cadastre user --help'."],
    [
      "user remove",
      "'cadastre user' needs one of these commands: create, set-password, list. See 'cadastre user --help'.",
    ],
    ["user list --colour", "Unknown option '--colour'. See 'cadastre user list --help'."],
    ["user list -x", "Unknown option '-x'. See 'cadastre user list --help'."],
    ["user list --listen a:1", "Unknown option '--listen'. See 'cadastre user list --help'."],
    ["user list extra", "Unexpected argument 'extra'. See 'cadastre user list --help'."],
    ["user list --json=yes", "--json takes no value. See 'cadastre user list --help'."],
    ["user list --database", "--database needs a value. See 'cadastre user list --help'."],
    ["user list --database --json", "--database needs a value. See 'cadastre user list --help'."],
    ["user create --email a@b.example", "'cadastre user create' needs NAME. See 'cadastre user create --help'."],
    ["user set-password", "'cadastre user set-password' needs NAME. See 'cadastre user set-password --help'."],
    [
      "user set-password ada --user ada",
      "NAME is given twice, as 'ada' and with --user. Give it once. See 'cadastre user set-password --help'.",
    ],
    ["user set-password ada bob", "Unexpected argument 'bob'. See 'cadastre user set-password --help'."],
    ["user create --username a", "'cadastre user create' needs --email ADDRESS. See 'cadastre user create --help'."],
    ["token create", "A token needs an owner: give either NAME or --owners-of ORGANIZATION."],
    ["token create --user a --owners-of b", "A token needs an owner: give either NAME or --owners-of ORGANIZATION."],
    ["token create --user a --expires-in soon", "--expires-in must be a number of days or hours, such as 30d or 12h."],
    [
      "token create --user a --expires-in 1d --expires-at 2090-01-01T00:00:00Z",
      "--expires-in and --expires-at can't be combined. Give one of them.",
    ],
    ["token revoke", "'cadastre token revoke' needs ID. See 'cadastre token revoke --help'."],
    ["backup", "'cadastre backup' needs FILE. See 'cadastre backup --help'."],
    ["backup a b", "Unexpected argument 'b'. See 'cadastre backup --help'."],
    ["restore", "'cadastre restore' needs FILE. See 'cadastre restore --help'."],
  ])("'%s' exits with 2 and one line", async (line, sentence) => {
    expect(await cadastre(line.split(" "))).toEqual({ code: 2, out: "", err: sentence });
  });
});
