/** Counts a state's instances by type, in bounded size. */

const resourcesMax = 500;
const groupsMax = 200;
const typesMax = 200;
/** Limits the size of a page, which shows a hundred summaries. */
const namesLengthMax = 64 * 1024;

export interface SummarizedResource {
  readonly name: string;
  readonly type: string;
  readonly mode: "managed" | "data";
  readonly module: string;
  readonly provider: string;
  readonly count: number;
}

type TypeCounts = Map<string, Map<string, number>>;

export class StateSummary {
  readonly #modules: TypeCounts = new Map();
  readonly #providers: TypeCounts = new Map();
  readonly #resources: object[] = [];
  #namesLength = 0;
  #resourcesLength = 0;

  add({ name, type, mode, module, provider, count }: SummarizedResource): void {
    if (count === 0) return;
    const prefix = mode === "data" ? "data." : "";
    const shownType = prefix + type.replaceAll("_", "-");
    this.#count(this.#modules, module, shownType, count);
    this.#count(this.#providers, provider, shownType, count);
    const length = name.length + type.length + module.length + provider.length;
    if (this.#resources.length < resourcesMax && this.#resourcesLength + length <= namesLengthMax) {
      this.#resourcesLength += length;
      this.#resources.push({ name, type: prefix + type, count, module, provider });
    }
  }

  toObjects(): { modules: object; providers: object; resources: object[] } {
    return { modules: asObject(this.#modules), providers: asObject(this.#providers), resources: this.#resources };
  }

  #count(groups: TypeCounts, group: string, type: string, by: number): void {
    const types = groups.get(group);
    const before = types?.get(type);
    if (before === undefined) {
      const added = type.length + (types === undefined ? group.length : 0);
      const isFull = (types ?? groups).size >= (types === undefined ? groupsMax : typesMax);
      if (isFull || this.#namesLength + added > namesLengthMax) return;
      this.#namesLength += added;
    }
    if (types === undefined) groups.set(group, new Map([[type, by]]));
    else types.set(type, (before ?? 0) + by);
  }
}

/** Without a prototype: names come from users and can be `__proto__`. */
function asObject(counts: TypeCounts): object {
  const object = Object.create(null) as Record<string, object>;
  for (const [group, types] of counts) {
    const inner = Object.create(null) as Record<string, number>;
    for (const [type, count] of types) inner[type] = count;
    object[group] = inner;
  }
  return object;
}
