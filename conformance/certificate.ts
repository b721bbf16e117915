/** A self-signed certificate for `localhost` and 127.0.0.1. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Writes certificate and key, and makes this process trust the certificate. Needs openssl. */
export function makeCertificate(folder: string): Certificate {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", [...words, ...names, "-keyout", key, "-out", cert], { stdio: "pipe" });
  setDefaultCACertificates([...getCACertificates("default"), readFileSync(cert, "utf8")]);
  return { cert, key };
}

/** The server's settings for it. */
export const servedWith = ({ cert, key }: Certificate) => ({ CADASTRE_TLS_CERT: cert, CADASTRE_TLS_KEY: key });
