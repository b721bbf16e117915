/** Collects HCL resources with their import blocks, and builds the resources that several kinds of objects share. */
import { flagOf, textOf, type Thing } from "../wire.ts";
import { block, type Body, Expression, Labels, quotedText, type Value } from "./hcl.ts";

export class Writer {
  readonly organization: string;
  readonly writeOnly: string[] = [];
  readonly beyond: string[] = [];
  readonly #labels = new Labels();
  readonly #texts = new Map<string, string[]>();
  readonly #references = new Map<string, string>();

  constructor(organization: string) {
    this.organization = organization;
  }

  /** `id` is Cadastre's own id, `importId` the one that the provider imports by. */
  add(file: string, type: string, name: string, { importId, id, body }: Resource): void {
    const label = this.#labels.for(type, name);
    const address = `${type}.${label}`;
    if (id !== undefined) this.#references.set(id, `${address}.id`);
    const imported = block("import", { attributes: { to: new Expression(address), id: importId } });
    const text = `${imported}\n${block(`resource ${quotedText(type)} ${quotedText(label)}`, body)}`;
    this.#texts.set(file, [...(this.#texts.get(file) ?? []), text]);
  }

  /** Writes the resource as a comment, for the reader to complete. */
  suggest(file: string, type: string, name: string, why: string, { importId, body }: Resource): void {
    const address = `${type}.${this.#labels.for(type, name)}`;
    const label = address.slice(type.length + 1);
    const imported = block("import", { attributes: { to: new Expression(address), id: importId } });
    const text = `# ${why}\n${imported}\n${block(`resource ${quotedText(type)} ${quotedText(label)}`, body)}`;
    this.#texts.set(file, [
      ...(this.#texts.get(file) ?? []),
      text
        .trimEnd()
        .replaceAll(/\n(?!# )/g, "\n# ")
        .replaceAll(/ +$/gm, "") + "\n",
    ]);
  }

  /** A reference to an exported resource, or the plain id of any other. */
  ref(id: string | undefined): Value | undefined {
    if (id === undefined) return undefined;
    const reference = this.#references.get(id);
    return reference === undefined ? id : new Expression(reference);
  }

  refs(ids: readonly string[]): Value[] {
    return ids.map((id) => this.ref(id) ?? id);
  }

  get files(): Map<string, string> {
    return new Map([...this.#texts].map(([file, texts]) => [file, texts.join("\n")]));
  }
}

export interface Resource {
  readonly importId: string;
  readonly id?: string;
  readonly body: Body;
}

export const ignoring = (...names: string[]): Body => ({
  attributes: { ignore_changes: names.map((name) => new Expression(name)) },
});

export function retentionResource(
  writer: Writer,
  policy: Thing | undefined,
  name: string,
  importId: string,
  attributes: Body["attributes"],
): void {
  if (policy === undefined) return;
  const days = policy.attributes["delete-older-than-n-days"];
  const blocks =
    typeof days === "number" ? { delete_older_than: { attributes: { days } } } : { dont_delete: { attributes: {} } };
  writer.add("retention.tf", "tfe_data_retention_policy", name, { importId, body: { attributes, blocks } });
}

/** The provider supports neither the expiry of an access record nor its reason. */
export function noteTerms(writer: Writer, what: string, record: Thing): void {
  const [end, reason] = [textOf(record, "expires-at"), textOf(record, "reason")];
  if (end !== undefined) writer.beyond.push(`${what} (${record.id}) expires at ${end}`);
  if (reason) writer.beyond.push(`${what} (${record.id}) has a reason: ${reason}`);
}

export function tagsOf(bindings: readonly Thing[]): Value | undefined {
  if (bindings.length === 0) return undefined;
  return Object.fromEntries(bindings.map((each) => [textOf(each, "key") ?? "", textOf(each, "value") ?? ""]));
}

export interface VariableOwner {
  readonly name: string;
  readonly importId: string;
  readonly owner: Body["attributes"];
}

export function variableResource(writer: Writer, variable: Thing, { name, importId, owner }: VariableOwner): void {
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
