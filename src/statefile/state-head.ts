/** Reads the serial and the lineage of a state file as it arrives, in bounded memory; the rest only has to be JSON. Raises nothing. */
import { Capture, JsonError, JsonScanner } from "./json-scanner.ts";
import { nameBytesMax, stringOf } from "./state-resources.ts";

export interface StateHead {
  readonly serial: number;
  readonly lineage: string;
}

export class StateHeadReader {
  readonly #serial = new Capture(nameBytesMax);
  readonly #lineage = new Capture(nameBytesMax);
  readonly #members = new Map([
    ["serial", this.#serial],
    ["lineage", this.#lineage],
  ]);
  readonly #scanner = new JsonScanner({ member: (key) => this.#members.get(key) });
  #isBroken = false;

  write(bytes: Uint8Array): void {
    this.#scan(() => this.#scanner.write(bytes));
  }

  /** Undefined where what was written is no state. */
  end(): StateHead | undefined {
    this.#scan(() => this.#scanner.end());
    const [serial, lineage] = [Number(this.#serial.text), stringOf(this.#lineage)];
    return this.#isBroken || !Number.isSafeInteger(serial) || lineage === undefined ? undefined : { serial, lineage };
  }

  #scan(step: () => void): void {
    if (this.#isBroken) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      this.#isBroken = true;
    }
  }
}
