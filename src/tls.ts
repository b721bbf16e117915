/**
 * The certificate and key that HTTPS is served with: read and judged at the start, and again whenever the files change or somebody says
 * so. A pair that can't be used leaves the one in use.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { SettingError } from "./kernel/settings.ts";

export interface TlsFiles {
  readonly tlsCert: string;
  readonly tlsKey: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Raises SettingError. */
export function readPair({ tlsCert, tlsKey }: TlsFiles): TlsPair {
  try {
    const pair = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) };
    // Fails here, with a sentence, for files that are not PEM, and for some that don't belong together.
    createSecureContext(pair);
    refuseForeignKey(pair);
    return pair;
  } catch (error) {
    throw new SettingError(
      `The TLS files can't be used (${(error as Error).message}). Check CADASTRE_TLS_CERT and CADASTRE_TLS_KEY.`,
    );
  }
}

/** A context is made of a certificate and a key of different kinds as well; only every handshake with it fails. */
function refuseForeignKey({ cert, key }: TlsPair): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error("the key is not that of the first certificate in the file");
}

/** What takes a new pair up: connections that are open stay with theirs. */
interface ContextReceiver {
  setSecureContext(pair: TlsPair): void;
}

interface TlsLogger {
  info(line: string): void;
  error(line: string): void;
}

/** Soon enough for a certificate, and a stat of two files costs nothing. */
const lookEveryMs = 5_000;

/** Looks at the files rather than waiting to be told of changes: links that are turned around, and mounted secrets, change unheard. */
export class TlsWatch {
  readonly #files: TlsFiles;
  readonly #server: ContextReceiver;
  readonly #logger: TlsLogger;
  readonly #timer: NodeJS.Timeout;
  #inUse: TlsPair;
  #seen: string;

  constructor(
    files: TlsFiles,
    pair: TlsPair,
    { server, logger }: { server: ContextReceiver; logger: TlsLogger },
    everyMs = lookEveryMs,
  ) {
    this.#files = files;
    this.#server = server;
    this.#logger = logger;
    this.#inUse = pair;
    this.#seen = this.#look();
    this.#timer = setInterval(() => this.#reloadIfChanged(), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Whether or not anything has changed. Raises nothing. */
  reload(): void {
    this.#seen = this.#look();
    try {
      const pair = readPair(this.#files);
      if (pair.cert.equals(this.#inUse.cert) && pair.key.equals(this.#inUse.key))
        return this.#logger.info("the TLS certificate was read again, and is the one in use");
      this.#server.setSecureContext(pair);
      this.#inUse = pair;
      this.#logger.info(`new connections get the TLS certificate that is valid until ${validUntil(pair)}`);
    } catch (error) {
      this.#logger.error(
        `${(error as Error).message} The certificate in use, valid until ${validUntil(this.#inUse)}, stays in use.`,
      );
    }
  }

  /** Of two files one is written first: where they do not fit each other, the second is about to change too. */
  #reloadIfChanged(): void {
    if (this.#look() !== this.#seen) this.reload();
  }

  #look(): string {
    return [this.#files.tlsCert, this.#files.tlsKey].map(fingerprintOf).join();
  }
}

const validUntil = ({ cert }: TlsPair): string => new X509Certificate(cert).validToDate.toISOString();

function fingerprintOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs}`;
}
