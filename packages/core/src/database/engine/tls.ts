import { choice, type DatabaseFile, flag, issued, type TlsCertificate } from "./row.ts";

/** The fields of every engine that offers TLS. */
export const TLS_FIELDS = {
  enable_ssl: flag("Clients connect with TLS."),
  ca_certificate: issued(
    "Certificate, in PEM, of the authority that clients verify the database with. Null until TLS is switched on.",
  ),
} as const;

/** @param options From the most lenient to the strictest. */
export const sslMode = <const Option extends string>(options: readonly Option[], byDefault: Option) =>
  choice(options, byDefault, "TLS mode of clients, if the database offers TLS.");

interface TlsValues {
  readonly enable_ssl: string | null;
}

/** Always false for engines without TLS. */
export const isTls = (values: Partial<TlsValues>): boolean => values.enable_ssl === "true";

const FOLDER = "/etc/berth/tls";
export const TLS_PATHS = {
  authority: `${FOLDER}/ca.crt`,
  certificate: `${FOLDER}/server.crt`,
  key: `${FOLDER}/server.key`,
  /** Certificate and key in one file. */
  pair: `${FOLDER}/server.pem`,
} as const;

export const tlsFiles = ({ authority, certificate, key }: TlsCertificate): readonly DatabaseFile[] => [
  { path: TLS_PATHS.authority, text: authority },
  { path: TLS_PATHS.certificate, text: certificate },
  // Servers refuse a key that others can read.
  { path: TLS_PATHS.key, text: key, isSecret: true },
];
