/** Converts names between wire, SQL, TypeScript and human spellings. */

export type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name extends `${infer Head}_${infer Tail}`
    ? `${Head}${Capitalize<Camel<Tail>>}`
    : Name;

const camelOf = memoize((name: string) => name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()));

/** `auto-destroy-at` or `auto_destroy_at` → `autoDestroyAt` */
export function camel<Name extends string>(name: Name): Camel<Name> {
  return camelOf(name) as Camel<Name>;
}

/** `autoDestroyAt` or `auto_destroy_at` → `auto-destroy-at` */
export const kebab: (name: string) => string = memoize((name: string) =>
  name.replaceAll("_", "-").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
);

/** `autoDestroyAt` → `auto_destroy_at` */
export const snake: (name: string) => string = memoize((name: string) => kebab(name).replaceAll("-", "_"));

/** `auto-destroy-activity-duration` → `Auto destroy activity duration` */
export const human: (name: string) => string = memoize((name: string) => {
  const words = kebab(name).replaceAll(/[-.]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
});

/** The cache is bounded, because names come from definitions and columns. */
function memoize(convert: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    let converted = known.get(name);
    if (converted === undefined) {
      converted = convert(name);
      known.set(name, converted);
    }
    return converted;
  };
}
