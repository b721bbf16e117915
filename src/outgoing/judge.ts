/** Whether an address is called: judged after its name was looked up, and the connection is made to what was judged. */
import { lookup as lookUp } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { addressRules, type Standing } from "./addresses.ts";

/** Why nothing came of it: a sentence for whoever named the address. */
export class OutgoingFault extends Error {
  override readonly name = "OutgoingFault";
}

/** The same once more would be refused again: until the operator or the address is another. */
export class ForbiddenAddress extends OutgoingFault {}

export type Judge = (address: string) => OutgoingFault | undefined;

/** Without TLS only what the operator has named. */
export function judgeOf(
  { protocol, hostname, host }: Pick<URL, "protocol" | "hostname" | "host">,
  allowed: readonly string[],
): Judge {
  const rules = addressRules(allowed);
  const judge: Judge = (address) => {
    const standing: Standing = rules(address);
    if (standing === "named" || (standing === "public" && protocol === "https:")) return undefined;
    return new ForbiddenAddress(
      standing === "public"
        ? `${host} is only called over https.`
        : `${host} leads to a private address (${address}). The operator can allow that with CADASTRE_ALLOW_PRIVATE_ADDRESSES.`,
    );
  };
  const literal = hostname.replace(/^\[|\]$/g, "");
  const fault = isIP(literal) === 0 ? undefined : judge(literal);
  if (fault !== undefined) throw fault;
  return judge;
}

/** What is connected to is what was judged: the connection is made to these very addresses. */
export function judgedLookup(judge: Judge): LookupFunction {
  return (name, options, done) =>
    lookUp(name, { ...options, all: true }, (error, found) => {
      const fault = error ?? found.map(({ address }) => judge(address)).find((each) => each !== undefined);
      const [first] = found ?? [];
      if (fault !== undefined || first === undefined) done(fault ?? new Error(`${name} has no address`), "", 0);
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
}

/** The first address of a name that may be called, for a program that is then to call that. Raises OutgoingFault. */
export async function judgedAddress(host: string, port: string, allowed: readonly string[]): Promise<string> {
  const hostname = isIP(host) === 6 ? `[${host}]` : host;
  // What is spoken there is as safe as TLS.
  const judge = judgeOf({ protocol: "https:", hostname, host: `${hostname}:${port}` }, allowed);
  if (isIP(host) !== 0) return host;
  return new Promise((resolve, reject) => {
    judgedLookup(judge)(host, {}, (error, address) => {
      if (error === null) return resolve(address as string);
      reject(
        error instanceof OutgoingFault ? error : new OutgoingFault(`${host} can't be reached (${error.message}).`),
      );
    });
  });
}
