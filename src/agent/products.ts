/** The engines: their names, and how they appear in messages. */

export const products = ["terraform", "tofu"] as const;
export type Product = (typeof products)[number];

export interface EngineName {
  readonly product: Product;
  readonly version: string;
}

export const titleOf = (product: Product): string => (product === "tofu" ? "OpenTofu" : "Terraform");

export const engineText = ({ product, version }: EngineName): string => `${titleOf(product)} ${version}`;

export const isEngineVersion = (text: string): boolean =>
  text.length <= 64 && /^\d+\.\d+\.\d+([-+][\w.+-]+)?$/.test(text);
