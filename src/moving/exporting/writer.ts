/** Collects HCL resources with their import blocks. */
import { flagOf, textOf, type WireResource } from "../wire.ts";
import { block, type HclBody, HclExpression, ResourceLabels, quotedText, type HclArgument } from "./hcl.ts";

export class HclWriter {
  readonly organization: string;
  readonly writeOnly: string[] = [];
  readonly unsupported: string[] = [];
  readonly #labels = new ResourceLabels();
  readonly #texts = new Map<string, string[]>();
  readonly #references = new Map<string, string>();

  constructor(organization: string) {
    this.organization = organization;
  }

  add(file: string, type: string, name: string, { importId, id, body }: HclResource): void {
    const label = this.#labels.for(type, name);
    const address = `${type}.${label}`;
    if (id !== undefined) this.#references.set(id, `${address}.id`);
    const imported = block("import", { attributes: { to: new HclExpression(address), id: importId } });
    const text = `${imported}\n${block(`resource ${quotedText(type)} ${quotedText(label)}`, body)}`;
    this.#texts.set(file, [...(this.#texts.get(file) ?? []), text]);
  }

  /** Writes a comment, for the reader to complete. */
  suggest(file: string, type: string, name: string, why: string, { importId, body }: HclResource): void {
    const address = `${type}.${this.#labels.for(type, name)}`;
    const label = address.slice(type.length + 1);
    const imported = block("import", { attributes: { to: new HclExpression(address), id: importId } });
    const text = `# ${why}\n${imported}\n${block(`resource ${quotedText(type)} ${quotedText(label)}`, body)}`;
    this.#texts.set(file, [
      ...(this.#texts.get(file) ?? []),
      text
        .trimEnd()
        .replaceAll(/\n(?!# )/g, "\n# ")
        .replaceAll(/ +$/gm, "") + "\n",
    ]);
  }

  ref(id: string | undefined): HclArgument | undefined {
    if (id === undefined) return undefined;
    const reference = this.#references.get(id);
    return reference === undefined ? id : new HclExpression(reference);
  }

  refs(ids: readonly string[]): HclArgument[] {
    return ids.map((id) => this.ref(id) ?? id);
  }

  get files(): Map<string, string> {
    return new Map([...this.#texts].map(([file, texts]) => [file, texts.join("\n")]));
  }
}

export interface HclResource {
  readonly importId: string;
  readonly id?: string;
  readonly body: HclBody;
}

export const ignoring = (...names: string[]): HclBody => ({
  attributes: { ignore_changes: names.map((name) => new HclExpression(name)) },
});

export function retentionResource(
  writer: HclWriter,
  policy: WireResource | undefined,
  name: string,
  importId: string,
  attributes: HclBody["attributes"],
): void {
  if (policy === undefined) return;
  const days = policy.attributes["delete-older-than-n-days"];
  const blocks =
    typeof days === "number" ? { delete_older_than: { attributes: { days } } } : { dont_delete: { attributes: {} } };
  writer.add("retention.tf", "tfe_data_retention_policy", name, { importId, body: { attributes, blocks } });
}

export function reportUnsupportedTerms(writer: HclWriter, what: string, record: WireResource): void {
  const [expiresAt, reason] = [textOf(record, "expires-at"), textOf(record, "reason")];
  if (expiresAt !== undefined) writer.unsupported.push(`${what} (${record.id}) expires at ${expiresAt}`);
  if (reason) writer.unsupported.push(`${what} (${record.id}) has a reason: ${reason}`);
}

export function tagsOf(bindings: readonly WireResource[]): HclArgument | undefined {
  if (bindings.length === 0) return undefined;
  return Object.fromEntries(bindings.map((binding) => [textOf(binding, "key") ?? "", textOf(binding, "value") ?? ""]));
}

export interface VariableOwner {
  readonly name: string;
  readonly importId: string;
  readonly owner: HclBody["attributes"];
}

export function variableResource(
  writer: HclWriter,
  variable: WireResource,
  { name, importId, owner }: VariableOwner,
): void {
  const key = textOf(variable, "key") ?? variable.id;
  const isSensitive = flagOf(variable, "sensitive");
  if (isSensitive) writer.writeOnly.push(`the value of the variable ${key} of ${name} (${variable.id})`);
  const resource = {
    importId,
    body: {
      attributes: {
        key,
        value: isSensitive ? "" : (textOf(variable, "value") ?? ""),
        category: textOf(variable, "category"),
        description: textOf(variable, "description") || undefined,
        hcl: flagOf(variable, "hcl"),
        sensitive: isSensitive,
        ...owner,
      },
    },
  };
  if (!isSensitive) writer.add("variables.tf", "tfe_variable", `${name}_${key}`, resource);
  else
    writer.suggest(
      "variables.tf",
      "tfe_variable",
      `${name}_${key}`,
      "Sensitive: its value can't be exported. Enter the value before you uncomment this, or the variable becomes empty.",
      resource,
    );
}
