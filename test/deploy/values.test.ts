/** The Helm chart's values are documented in its README and schema, and the chart is for the newest release. */
import { readFileSync } from "node:fs";
import { newestReleased } from "../../packaging/versions.ts";
import { describe, expect, it } from "vitest";
import type { Json } from "../support/api.ts";

const chart = "deploy/helm/cadastre";
const lines = readFileSync(`${chart}/values.yaml`, "utf8").split("\n");

interface Value {
  readonly path: string;
  readonly initially: string;
  readonly doc: string | undefined;
}

/** Finds keys by their indentation. Keys below a documented key belong to its default, and are not values of their own. */
function valuesIn(text: readonly string[]): Value[] {
  const found: Value[] = [];
  const parents: string[] = [];
  let doc: string | undefined;
  let documentedDepth: number | undefined;
  for (const line of text) {
    const [, spaces = "", comment] = /^( *)# -- (.*)$/.exec(line) ?? [];
    if (comment !== undefined) {
      [doc, documentedDepth] = [comment, undefined];
      continue;
    }
    const [, indent, key = "", rest = ""] = /^( *)([\w.-]+):(?: (.*))?$/.exec(line) ?? [];
    if (indent === undefined) continue;
    const depth = indent.length / 2;
    if (documentedDepth !== undefined && depth > documentedDepth) continue;
    documentedDepth = undefined;
    parents.length = depth;
    parents.push(key);
    if (rest !== "" || doc !== undefined) {
      found.push({ path: parents.join("."), initially: rest, doc });
      documentedDepth = doc === undefined ? undefined : depth;
    }
    [doc] = [undefined, spaces];
  }
  return found;
}

const values = valuesIn(lines);

const head = `# The chart's values

\`helm install cadastre deploy/helm/cadastre --set image.repository=registry.example/cadastre --set publicUrl=https://cadastre.example\` is enough for one server on a volume;
see [how to install](../../../docs/install.md#kubernetes) for more. A test writes this page from \`values.yaml\`.

| Value | Default | What it is |
| --- | --- | --- |
`;

describe("the chart's values", () => {
  it("are all documented", () => {
    expect(values.length).toBeGreaterThan(30);
    expect(values.filter(({ doc }) => doc === undefined).map(({ path }) => path)).toEqual([]);
  });

  it("are in the README", async () => {
    const rows = values.map(({ path, initially, doc }) => {
      const shown = initially === "" ? "see values.yaml" : initially === '""' ? "" : `\`${initially}\``;
      return `| \`${path}\` | ${shown} | ${doc} |\n`;
    });
    await expect(head + rows.join("")).toMatchFileSnapshot(`../../${chart}/README.md`);
  });

  it("match the schema", () => {
    const schema = JSON.parse(readFileSync(`${chart}/values.schema.json`, "utf8"));
    const paths: string[] = [];
    const walk = (part: Json, before: string) => {
      for (const [name, inner] of Object.entries<Json>(part.properties)) {
        if ("properties" in inner) walk(inner, `${before}${name}.`);
        else paths.push(`${before}${name}`);
      }
    };
    walk(schema, "");
    // Helm passes this to every chart.
    const own = paths.filter((path) => path !== "global");
    const tops = values.map(({ path }) => path);
    expect(own.filter((path) => !tops.some((top) => path === top || path.startsWith(`${top}.`)))).toEqual([]);
    expect(tops.filter((top) => !own.some((path) => path === top || path.startsWith(`${top}.`)))).toEqual([]);
  });
});

it("the chart is for the newest released version", () => {
  const version = newestReleased(readFileSync("CHANGELOG.md", "utf8"));
  expect(readFileSync(`${chart}/Chart.yaml`, "utf8")).toContain(`\nappVersion: "${version}"\n`);
});
