/** Loaded into the fuzzed server (`--import`): disables DNS, so that no address in a random body is ever called. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { isIP } from "node:net";

type Done = (error: Error) => void;

const refusal = (name: string) =>
  Object.assign(new Error(`${name} is not looked up here`), { code: "ENOTFOUND", syscall: "getaddrinfo" });

const [lookUp, promised] = [dns.lookup, dns.promises.lookup];

dns.lookup = ((name: string, ...rest: unknown[]) => {
  if (isIP(name) !== 0) return (lookUp as (...words: unknown[]) => void)(name, ...rest);
  setImmediate(() => (rest.at(-1) as Done)(refusal(name)));
}) as never;
dns.promises.lookup = (async (name: string, ...rest: unknown[]) => {
  if (isIP(name) !== 0) return (promised as (...words: unknown[]) => Promise<unknown>)(name, ...rest);
  throw refusal(name);
}) as never;
syncBuiltinESMExports();
