/**
 * The proof that a change comes from a part of the service rather than from a caller with permissions. Only its issuer can create
 * one: each name is claimed once, in the file that `test/proofs.test.ts` lists. Functions that write accept it besides
 * `Granted<…>`.
 */
import { belongsTo, type Granted } from "./granted.ts";

/**
 * `job`: a background job. `claim`: an agent that claimed a phase of a run. `webhook`: a delivery with a verified signature.
 * `new-organization`: the initial contents of an organization. `import`: data from another server. `run-transition`: a transition
 * of a run.
 */
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

  /**
   * Returns the function that issues capabilities of this name: for the subject with an id and its contents, or for everything. The
   * issuing module calls it once, when it loads; the second call for a name throws.
   */
  static issuer<Name extends CapabilityName>(name: Name): (subjectId?: string) => Capability<Name> {
    if (Capability.#claimed.has(name)) throw new Error(`The capability ${name} has an issuer already.`);
    Capability.#claimed.add(name);
    return (subjectId) => new Capability(name, subjectId);
  }

  /**
   * Returns the row with the proof, for functions that take the row itself. Throws if the row does not belong to the capability's
   * subject.
   */
  proofFor<Row extends object>(row: Row): Granted<Row, Name> {
    if (this.#subjectId !== undefined && !belongsTo(row, this.#subjectId))
      throw new Error(`The capability ${this.#name} of ${this.#subjectId} was used for a row of something else.`);
    return row as Granted<Row, Name>;
  }
}
