/** The software bill of materials (CycloneDX) of what is shipped, whether installed or bundled. */
import { createHash } from "node:crypto";
import { output } from "./checkout.ts";
import type { BundledPackage } from "./bundled-packages.ts";

const ownName = "cadastre";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly scope?: string;
  readonly properties?: readonly { readonly name: string }[];
}

interface BillOfMaterials {
  readonly metadata: { readonly component: Component; readonly [name: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [name: string]: unknown;
}

export interface ReleaseContents {
  readonly version: string;
  readonly contained: readonly Pick<BundledPackage, "name" | "version">[];
  /** Seconds since 1970. */
  readonly seconds: number;
  /** The bundled Node, if any. */
  readonly node?: { readonly version: string };
}

export async function sbomOf(shipped: ReleaseContents): Promise<object> {
  // Ignores NODE_ENV, which the console's build sets: npm would leave out the console's dependencies.
  const all = ["--include=dev", "--include=optional", "--include=peer"];
  const text = await output("npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only", ...all);
  return onlyShipped(JSON.parse(text) as BillOfMaterials, shipped);
}

/** Removes development tools, and replaces npm's random serial number and time with reproducible ones. */
export function onlyShipped(bill: BillOfMaterials, { version, contained, seconds, node }: ReleaseContents): object {
  const { component } = bill.metadata;
  const keyOf = ({ name, version: of }: { name: string; version: string }) => `${name}@${of}`;
  const shippedKeys = new Set(contained.map(keyOf));
  const fullName = ({ purl, name, version: of }: Component) =>
    purl === undefined ? keyOf({ name, version: of }) : decodeURIComponent(purl.replace(/^pkg:npm\//, ""));
  const components = bill.components
    .filter((each) => shippedKeys.has(fullName(each)))
    // A development dependency whose code is bundled is a required component.
    .map(asRequiredComponent);
  const missing = [...shippedKeys].filter((key) => !bill.components.some((each) => fullName(each) === key));
  if (missing.length > 0)
    throw new Error(`npm's bill of materials lacks packages of the bundle: ${missing.join(", ")}.`);
  const refs = new Set([...components.map((each) => each["bom-ref"]), component["bom-ref"]]);
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  // npm uses the directory's name.
  const ownComponent = { ...component, name: ownName, version, purl: `pkg:npm/${ownName}@${version}` };
  const document = {
    ...bill,
    metadata: { ...bill.metadata, timestamp: new Date(seconds * 1000).toISOString(), component: ownComponent },
    components: [...components, ...(node === undefined ? [] : [componentOfNode(node)])],
    dependencies,
  };
  const { serialNumber: _, ...unnumbered } = document as typeof document & { serialNumber?: string };
  return { ...unnumbered, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(unnumbered))}` };
}

const componentOfNode = ({ version }: { readonly version: string }) => ({
  "bom-ref": `node@${version}`,
  type: "platform",
  name: "node",
  version,
  purl: `pkg:generic/node@${version}`,
  licenses: [{ license: { id: "MIT" } }],
});

function asRequiredComponent({ scope, properties = [], ...rest }: Component): Component {
  const kept = properties.filter(({ name }) => name !== "cdx:npm:package:development");
  return {
    ...rest,
    ...(scope !== undefined && scope !== "optional" && { scope }),
    ...(kept.length > 0 && { properties: kept }),
  };
}

/** A UUID (version 8) derived from the text. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}
