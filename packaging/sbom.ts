/** The bill of materials (CycloneDX): of what npm knows, the part that is shipped, whether it is installed for the service or built in. */
import { createHash } from "node:crypto";
import { output } from "./checkout.ts";
import type { Contained } from "./contained.ts";

const ownName = "cadastre";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly scope?: string;
  readonly properties?: readonly { readonly name: string }[];
}

interface Bill {
  readonly metadata: { readonly component: Component; readonly [name: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [name: string]: unknown;
}

export interface Shipped {
  readonly version: string;
  readonly contained: readonly Pick<Contained, "name" | "version">[];
  /** Seconds since 1970. */
  readonly seconds: number;
  /** What runs it, where that is shipped, too. */
  readonly node?: { readonly version: string };
}

export async function sbomOf(shipped: Shipped): Promise<object> {
  // All of it, whatever NODE_ENV says: building the console sets that, and npm would leave out what the console is made of.
  const all = ["--include=dev", "--include=optional", "--include=peer"];
  const text = await output("npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only", ...all);
  return onlyShipped(JSON.parse(text) as Bill, shipped);
}

/** npm tells of the tools too. And its number and time are another at each call: these are made of what is told. */
export function onlyShipped(bill: Bill, { version, contained, seconds, node }: Shipped): object {
  const { component } = bill.metadata;
  const keyOf = ({ name, version: of }: { name: string; version: string }) => `${name}@${of}`;
  const wanted = new Set(contained.map(keyOf));
  const fullName = ({ purl, name, version: of }: Component) =>
    purl === undefined ? keyOf({ name, version: of }) : decodeURIComponent(purl.replace(/^pkg:npm\//, ""));
  const components = bill.components
    .filter((each) => wanted.has(fullName(each)))
    // A tool of ours whose code is in the bundle is no longer an optional part.
    .map(asShipped);
  const missing = [...wanted].filter((key) => !bill.components.some((each) => fullName(each) === key));
  if (missing.length > 0) throw new Error(`npm knows nothing of ${missing.join(", ")}, which are in the bundle.`);
  const refs = new Set([...components.map((each) => each["bom-ref"]), component["bom-ref"]]);
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  // npm calls it like the folder that it is in.
  const ours = { ...component, name: ownName, version, purl: `pkg:npm/${ownName}@${version}` };
  const told = {
    ...bill,
    metadata: { ...bill.metadata, timestamp: new Date(seconds * 1000).toISOString(), component: ours },
    components: [...components, ...(node === undefined ? [] : [componentOfNode(node)])],
    dependencies,
  };
  const { serialNumber: _, ...unnumbered } = told as typeof told & { serialNumber?: string };
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

function asShipped({ scope, properties = [], ...rest }: Component): Component {
  const kept = properties.filter(({ name }) => name !== "cdx:npm:package:development");
  return {
    ...rest,
    ...(scope !== undefined && scope !== "optional" && { scope }),
    ...(kept.length > 0 && { properties: kept }),
  };
}

/** A number in the form of a UUID (version 8: of our own making), the same for the same text. */
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
