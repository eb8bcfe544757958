import { createHmac, randomBytes } from "node:crypto";
import type { MagicSource } from "@berth/core/compose";
import { parseTemplate, type TemplateRecord } from "@berth/core/service";

export const testMagic: Omit<MagicSource, "secret"> = {
  bytes: (length) => randomBytes(length),
  hmacSha256: (key, text) => createHmac("sha256", key).update(text).digest(),
};

const NOTES = `# documentation: https://notes.example/docs
# slogan: Keeps notes.
# category: Documents
# tags: notes,text
# aliases: jotter
# port: 3000

services:
  notes:
    image: notes:1
    environment:
      - SERVICE_URL_NOTES_3000
      - NOTES_SECRET=$SERVICE_PASSWORD_64_NOTES
      - DATABASE_URL=postgres://$SERVICE_USER_DB:$SERVICE_PASSWORD_DB@db/\${POSTGRES_DB:-notes}
    volumes:
      - notes-data:/data
  db:
    image: postgres:17
    environment:
      POSTGRES_USER: $SERVICE_USER_DB
      POSTGRES_PASSWORD: $SERVICE_PASSWORD_DB
      POSTGRES_DB: \${POSTGRES_DB:-notes}

volumes:
  notes-data:
`;

const PAGES = `# slogan: Serves pages.
# tags: web

services:
  pages:
    image: pages:1
`;

/** Service templates for tests. */
export const testTemplates: readonly TemplateRecord[] = [parseTemplate("notes", NOTES), parseTemplate("pages", PAGES)];
