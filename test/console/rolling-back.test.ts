/** Rolling back a workspace's state: what would change, attribute by attribute against the current version, then the roll-back itself. */
import { beforeAll, describe, expect, test } from "vitest";
import { data, makeOrganization, makeWorkspace, type Org } from "../support/builders.ts";
import type { Json } from "../support/api.ts";
import { stateOf, writeState } from "../support/states.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
let org: Org;

const provider = 'provider["registry.terraform.io/hashicorp/aws"]';
const resource = (name: string, attributes: object, sensitive: object[] = []) => ({
  mode: "managed",
  type: "aws_db_instance",
  name,
  provider,
  instances: [{ schema_version: 0, attributes, sensitive_attributes: sensitive }],
});

/** Three versions: the second changes the class, the third the storage; the secrets change each time. */
async function history(name: string): Promise<Json[]> {
  const { id } = await makeWorkspace(console.api, org.name, { name });
  const versions: Json[] = [];
  const states = [
    { class: "small", storage: 100, login: "hush-1" },
    { class: "large", storage: 100, login: "hush-2" },
    { class: "large", storage: 200, login: "hush-3" },
  ];
  for (const [index, { login, ...attributes }] of states.entries())
    versions.push(
      await writeState(
        org.owner,
        id,
        stateOf({
          serial: index + 1,
          resources: [
            resource("main", { id: "db-1", ...attributes, login, password: login }, [
              [{ type: "get_attr", value: "login" }],
            ]),
            ...(index === 0 ? [resource("old", { id: "db-2" })] : []),
          ],
          outputs: {
            endpoint: { value: `db-${index}.example`, type: "string" },
            admin: { value: login, type: "string", sensitive: true },
          },
        }),
      ),
    );
  return versions;
}

beforeAll(async () => {
  org = await makeOrganization(console.api);
});

const sizes = [
  ["on a large screen", { viewport: { width: 1280, height: 800 } }],
  ["on a phone", { viewport: { width: 390, height: 760 } }],
] as const;

describe("rolling back", () => {
  test.each(sizes)(
    "compares with the current version, attribute by attribute, without secrets, %s",
    async (name, size) => {
      const workspace = name === "on a phone" ? "phone" : "desk";
      const [first] = await history(workspace);
      const { page, go, complaints } = await console.visit(org.owner.token, size);
      await go(`/${org.name}/workspaces/${workspace}/states/${first!.id}`);
      const section = page.getByRole("region", { name: "Changes" });
      const other = section.getByRole("combobox", { name: "Compare with" });
      await expect.poll(() => other.inputValue()).toBe("Current version (serial 3)");
      await section.getByText("class: large → small").waitFor();
      await section.getByText("storage: 200 → 100").waitFor();
      await section.getByText("login: sensitive value, hidden").waitFor();
      await section.getByText("password: sensitive value, hidden").waitFor();
      await section.getByRole("row", { name: /added aws_db_instance\.old/ }).waitFor();
      await section.getByText("db-2.example → db-0.example").waitFor();
      await other.click();
      await page.getByRole("option", { name: /^Serial 2, / }).click();
      await section.getByText("class: large → small").waitFor();
      await expectCount(section.getByText(/^storage:/), 0);
      await expectAccessible(page);
      await page.getByRole("button", { name: "Roll back to this version" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Creates a new state version with the contents of serial 1.").waitFor();
      await dialog.getByText("storage: 200 → 100").waitFor();
      await expectAccessible(page);
      expect(await page.content()).not.toContain("hush");
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      await dialog.getByRole("button", { name: "Roll back" }).click();
      await page.getByText(`Rolled back ${workspace} to serial 1. The new version is serial 4.`).waitFor();
      const now = data(
        await org.owner.get(
          `/workspaces/${data(await org.owner.get(`/organizations/${org.name}/workspaces/${workspace}`)).id}/current-state-version`,
        ),
      );
      expect(now.attributes.serial).toBe(4);
      expect(complaints).toEqual([]);
    },
  );

  test("shows all changes on the page, with the dialog closed", async () => {
    const { id } = await makeWorkspace(console.api, org.name, { name: "many" });
    const many = Array.from({ length: 14 }, (_, index) => resource(`db${index}`, { id: `db-${index}` }));
    const first = await writeState(org.owner, id, stateOf({ serial: 1, resources: many }));
    await writeState(org.owner, id, stateOf({ serial: 2, resources: [] }));
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/workspaces/many/states/${first.id}?since=previous&change=removed`);
    const section = page.getByRole("region", { name: "Changes" });
    await section.getByText("No changes.").waitFor();
    await section.getByText("Serial 1 is the first version: everything was added.").waitFor();
    await page.getByRole("button", { name: "Roll back to this version" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4 more changes.").waitFor();
    await dialog.getByText("Show all changes").click();
    await expectCount(dialog, 0);
    await expectCount(section.getByRole("row", { name: /added aws_db_instance/ }), 14);
    await expect
      .poll(() => section.getByRole("combobox", { name: "Compare with" }).inputValue())
      .toBe("Current version (serial 2)");
    expect(complaints).toEqual([]);
  });
});
