// Prints the service templates as JSON. Fails for one that cannot be used.
import { readTemplates } from "../../apps/server/src/templates.ts";

process.stdout.write(JSON.stringify(await readTemplates()));
