/**
 * The proof that a change comes from a part of the service rather than from a caller with permissions. Only its issuer can make one: each name
 * is claimed once, in the file that `test/proofs.test.ts` lists. Functions that write accept it beside `Granted<…>`.
 */
import { belongsTo, type Granted } from "./granted.ts";

/**
 * `job`: background work, from the job runner. `claim`: an agent that claimed a phase of a run. `webhook`: a delivery whose signature was verified.
 * `new-organization`: what an organization begins with. `import`: what is brought from another server. `run-transition`: a step of the life cycle of
 * runs.
 */
export type CapabilityName = "job" | "claim" | "webhook" | "new-organization" | "import" | "run-transition";

/** `Capability.issuer` is the only way to a capability: the constructor is private, and no object literal has the private fields. */
export class Capability<out Name extends CapabilityName> {
  static readonly #claimed = new Set<CapabilityName>();
  readonly #name: Name;
  readonly #subjectId: string | undefined;

  private constructor(name: Name, subjectId: string | undefined) {
    this.#name = name;
    this.#subjectId = subjectId;
  }

  /**
   * Gives the function that issues capabilities of this name: for one thing and what belongs to it, by its id, or for everything. Called once
   * for each name, when the issuing module is loaded. Throws the second time.
   */
  static issuer<Name extends CapabilityName>(name: Name): (subjectId?: string) => Capability<Name> {
    if (Capability.#claimed.has(name)) throw new Error(`The capability ${name} has an issuer already.`);
    Capability.#claimed.add(name);
    return (subjectId) => new Capability(name, subjectId);
  }

  /** The row with the proof, for functions that take the row itself. Throws for a row that does not belong to the capability's subject. */
  grant<Row extends object>(row: Row): Granted<Row, Name> {
    if (this.#subjectId !== undefined && !belongsTo(row, this.#subjectId))
      throw new Error(`The capability ${this.#name} of ${this.#subjectId} was used for a row of something else.`);
    return row as Granted<Row, Name>;
  }
}
