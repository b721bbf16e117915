/** Formats a line of the agent's log: a constant message that can be searched for, then fields as `name=value`. */

export type LogFields = Readonly<Record<string, string | number | undefined>>;

/** Quotes values as JSON where needed, so that a record is always one line. */
export function logLine(message: string, fields: LogFields = {}): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${fieldText(value)}`],
  );
  return [message, ...pairs].join(" ");
}

function fieldText(value: string | number): string {
  const text = String(value);
  return /^[^\s"=\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
}
