import { sql } from "kysely";

/** The form of uuids: 24 lower-case letters and digits, the first is a letter. */
export const NEW_UUID = sql<string>`'e' || substr(md5(gen_random_uuid()::text), 1, 23)`;
