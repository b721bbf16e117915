/** Parses resource counts and the first error from an engine's output, line by line. */

export interface ResourceCounts {
  readonly additions: number;
  readonly changes: number;
  readonly destructions: number;
  readonly imports: number;
  /** Actions, since Terraform 1.14. */
  readonly invocations: number;
}

const none: ResourceCounts = { additions: 0, changes: 0, destructions: 0, imports: 0, invocations: 0 };
const lineBytesMax = 1024 ** 2;
const errorLengthMax = 2000;

interface EngineMessage {
  readonly type?: string;
  readonly changes?: {
    add?: number;
    change?: number;
    remove?: number;
    import?: number;
    action_invocation?: number;
  };
  readonly hook?: { action?: string };
  readonly diagnostic?: { severity?: string; summary?: string; detail?: string };
}

const summarySentence =
  /^(?:Plan: |Apply complete! Resources: |Destroy complete! Resources: )(?:(\d+) (?:to import|imported)(?:, |\.|$))?(?:(\d+) (?:to add|added), (\d+) (?:to change|changed), )?(?:(\d+) (?:to destroy|destroyed)\.?)?(?: ?Actions: (\d+) (?:to invoke|invoked))?/;

export class EngineOutputReader {
  #line: Buffer[] = [];
  #lineBytes = 0;
  #summary: ResourceCounts | undefined;
  #completed = { ...none };
  #error: string | undefined;

  write(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(10, at);
      this.#appendToLine(bytes.subarray(at, end === -1 ? bytes.length : end));
      if (end === -1) return;
      this.#endLine();
      at = end + 1;
    }
  }

  end(): void {
    this.#endLine();
  }

  /** The engine's summary; if it failed before that, the count of its messages. */
  get counts(): ResourceCounts {
    return this.#summary ?? this.#completed;
  }

  get hasSummary(): boolean {
    return this.#summary !== undefined;
  }

  get error(): string | undefined {
    return this.#error;
  }

  #appendToLine(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes <= lineBytesMax) this.#line.push(Buffer.from(part));
    else this.#line = [];
  }

  #endLine(): void {
    const line = Buffer.concat(this.#line).toString("utf8");
    this.#line = [];
    this.#lineBytes = 0;
    if (line.startsWith("{")) this.#readMessage(line);
    else if (line !== "") this.#readText(line);
  }

  #readMessage(line: string): void {
    let message: EngineMessage;
    try {
      message = JSON.parse(line) as EngineMessage;
    } catch {
      return;
    }
    const { type, changes, hook, diagnostic } = message;
    if (type === "change_summary" && changes !== undefined)
      this.#summary = {
        additions: changes.add ?? 0,
        changes: changes.change ?? 0,
        destructions: changes.remove ?? 0,
        imports: changes.import ?? 0,
        invocations: changes.action_invocation ?? 0,
      };
    if (type === "apply_complete") this.#count(hook?.action ?? "");
    if (type === "action_complete") this.#completed.invocations += 1;
    if (type === "diagnostic" && diagnostic?.severity === "error")
      this.#recordError([diagnostic.summary, diagnostic.detail].filter(Boolean).join(": "));
  }

  #readText(line: string): void {
    // oxlint-disable-next-line no-control-regex -- the escapes of terminals
    const plain = line.replace(/\u001B\[[\d;]*m/g, "").replace(/\r$/, "");
    const [, imports, additions, changes, destructions, invocations] = summarySentence.exec(plain) ?? [];
    if ([additions, destructions, imports, invocations].some((count) => count !== undefined))
      this.#summary = {
        additions: Number(additions ?? 0),
        changes: Number(changes ?? 0),
        destructions: Number(destructions ?? 0),
        imports: Number(imports ?? 0),
        invocations: Number(invocations ?? 0),
      };
    const [, done] = /^\S.*: (Creation|Modifications|Destruction) complete after /.exec(plain) ?? [];
    if (done !== undefined)
      this.#count({ Creation: "create", Modifications: "update", Destruction: "delete" }[done] ?? "");
    if (plain.startsWith("Action complete: ")) this.#completed.invocations += 1;
    const [, error] = /^[│╷ ]*Error: (.*)$/.exec(plain) ?? [];
    if (error !== undefined) this.#recordError(error);
  }

  #count(action: string): void {
    if (action === "create") this.#completed.additions += 1;
    if (action === "update") this.#completed.changes += 1;
    if (action === "delete") this.#completed.destructions += 1;
  }

  #recordError(message: string): void {
    this.#error ??= message.slice(0, errorLengthMax);
  }
}

interface PlannedResourceChange {
  readonly mode?: string;
  readonly change?: { readonly actions?: readonly string[]; readonly importing?: unknown };
}

/** A replacement counts as an addition and a destruction. */
export function countsOfPlan(plan: unknown): ResourceCounts {
  const counts = { ...none };
  const { resource_changes: changes = [], action_invocations: invocations = [] } = plan as {
    resource_changes?: readonly PlannedResourceChange[];
    action_invocations?: readonly unknown[];
  };
  for (const { change } of changes) {
    const actions = change?.actions ?? [];
    if (actions.includes("create")) counts.additions += 1;
    if (actions.includes("update")) counts.changes += 1;
    if (actions.includes("delete")) counts.destructions += 1;
    if (change?.importing) counts.imports += 1;
  }
  return { ...counts, invocations: invocations.length };
}
