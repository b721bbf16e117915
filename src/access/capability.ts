/** The proof that a change comes from a part of the service, not from a caller. `test/proofs.test.ts` lists the issuer of each name. */
import { belongsTo, type Granted } from "./granted.ts";

export type CapabilityName = "job" | "claim" | "webhook" | "new-organization" | "import" | "run-transition";

/** Only `Capability.issuer` creates capabilities: the constructor is private, and no object literal has the private fields. */
export class Capability<out Name extends CapabilityName> {
  static readonly #claimed = new Set<CapabilityName>();
  readonly #name: Name;
  readonly #subjectId: string | undefined;

  private constructor(name: Name, subjectId: string | undefined) {
    this.#name = name;
    this.#subjectId = subjectId;
  }

  /** A second call for a name throws. Without `subjectId`, the capability covers everything. */
  static issuer<Name extends CapabilityName>(name: Name): (subjectId?: string) => Capability<Name> {
    if (Capability.#claimed.has(name)) throw new Error(`The capability ${name} has an issuer already.`);
    Capability.#claimed.add(name);
    return (subjectId) => new Capability(name, subjectId);
  }

  /** Throws if the row does not belong to the capability's subject. */
  proofFor<Row extends object>(row: Row): Granted<Row, Name> {
    if (this.#subjectId !== undefined && !belongsTo(row, this.#subjectId))
      throw new Error(`The capability ${this.#name} of ${this.#subjectId} was used for a row of something else.`);
    return row as Granted<Row, Name>;
  }
}
