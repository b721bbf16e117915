/** Why an engine can't be used. */

/** What the mirror sent must not be executed. Trying again would not help. */
export class EngineRefusal extends Error {
  override readonly name = "EngineRefusal";
}

/** The engine can't be had at the moment. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
}
