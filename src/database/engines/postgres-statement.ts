/** One execution of a statement by the driver. Makes rows directly: the driver's own results cost more than most statements. */
import pg from "pg";
import { rowMaker, type ToRow } from "./rows.ts";

/** How rows of a statement are made, as of its last execution that returned any. */
export interface RowShape {
  readonly types: readonly number[];
  readonly parsers: readonly ((text: string) => unknown)[];
  readonly toRow: ToRow;
}

export interface StatementResult {
  readonly rows: Record<string, unknown>[];
  readonly rowCount: number;
  readonly shape: RowShape | undefined;
}

export interface StatementOptions {
  /** Prepares the statement. */
  readonly name?: string;
  /** Of an earlier execution. */
  readonly shape?: RowShape | undefined;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** 64-bit integers and numerics as JavaScript numbers: no value exceeds 2^53. */
const numberTypes = new Set([20, 1700]);

export const postgresTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: string) =>
    numberTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format as "text"),
};

const shapeOf = (fields: readonly Field[]): RowShape => ({
  types: fields.map(({ dataTypeID }) => dataTypeID),
  parsers: fields.map(({ dataTypeID }) => postgresTypes.getTypeParser(dataTypeID, "text")),
  toRow: rowMaker(fields.map(({ name }) => name)),
});

/** A connection that prepared the statement before or after a migration may return other columns. */
const isShapeOf = ({ types }: RowShape, fields: readonly Field[]): boolean =>
  types.length === fields.length && fields.every(({ dataTypeID }, position) => dataTypeID === types[position]);

/** A `Query`, because the driver accepts no other class on pipelined connections. */
export class StatementExecution extends pg.Query {
  readonly result: Promise<StatementResult>;
  readonly #settle: Pick<PromiseWithResolvers<StatementResult>, "resolve" | "reject">;
  readonly #rows: Record<string, unknown>[] = [];
  #shape: RowShape | undefined;
  #rowCount = 0;

  constructor(text: string, values: unknown[], { name, shape }: StatementOptions = {}) {
    super(text, values);
    if (name !== undefined) Object.assign(this, { name });
    const { promise, ...settle } = Promise.withResolvers<StatementResult>();
    this.result = promise;
    this.#settle = settle;
    this.#shape = shape;
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    if (this.#shape === undefined || !isShapeOf(this.#shape, fields)) this.#shape = shapeOf(fields);
  }

  handleDataRow({ fields: texts }: { readonly fields: readonly (string | null)[] }): void {
    const { parsers, toRow } = this.#shape as RowShape;
    try {
      this.#rows.push(toRow(texts.map((text, position) => (text === null ? null : parsers[position]?.(text)))));
    } catch (error) {
      this.#settle.reject(error);
    }
  }

  /** Of `INSERT 0 2`, the last number. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#rowCount = Number(/\d+$/.exec(text)?.[0] ?? 0);
  }

  handleReadyForQuery(): void {
    this.#settle.resolve({ rows: this.#rows, rowCount: this.#rowCount, shape: this.#shape });
  }

  handleError(error: unknown): void {
    this.#settle.reject(error);
  }
}
