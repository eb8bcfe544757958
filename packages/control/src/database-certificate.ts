import { certificateChange, databaseCertificate, wantedCertificate } from "@berth/core/database";
import type { DatabaseRecord, ResourceRecord, Stores } from "@berth/core/ports";
import type { UseCaseContext } from "./context.ts";
import { findDatabase } from "./database-answer.ts";

type Issuing = Pick<UseCaseContext, "certificates" | "clock">;

/** Issues a certificate for the next start of a database that offers TLS, if it has none or an outdated one. */
export async function renewCertificate(
  { certificates, clock }: Issuing,
  tx: Stores,
  database: DatabaseRecord,
): Promise<void> {
  const kept = databaseCertificate(await tx.databases.secrets(database.id));
  const wanted = wantedCertificate(database, kept, clock.now());
  if (wanted === undefined) return;
  await tx.databases.update(database.id, certificateChange(wanted, kept, await certificates.issue(wanted)));
}

/** Does the same for any resource that is about to be started; only databases have certificates. */
export async function renewCertificateOf(
  context: Issuing,
  tx: Stores,
  { kind, uuid }: Pick<ResourceRecord, "kind" | "uuid">,
): Promise<void> {
  if (kind === "database") await renewCertificate(context, tx, await findDatabase(tx, uuid));
}
