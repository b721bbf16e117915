/** The feature sets that there are: a list that ships with the service, and in no table. */
import { fold, searchWords } from "../../../kernel/text.ts";
import type { FeatureSetView } from "./definition.ts";

export const allFeatureSets: readonly FeatureSetView[] = [
  { id: "fs-business", name: "Business", identifier: "business" },
  { id: "fs-free", name: "Free", identifier: "free" },
  { id: "fs-standard-entitlement", name: "Standard (entitlement)", identifier: "standard_entitlement" },
];

export function featureSetsNamed(part: string): FeatureSetView[] {
  const words = searchWords(part);
  return allFeatureSets.filter(({ name }) => words.every((word) => fold(name).includes(word)));
}
