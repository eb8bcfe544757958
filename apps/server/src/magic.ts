import { createHmac, randomBytes } from "node:crypto";
import type { MagicSource } from "@berth/core/compose";

export const magic: Omit<MagicSource, "secret"> = {
  bytes: (length) => randomBytes(length),
  hmacSha256: (key, text) => createHmac("sha256", key).update(text).digest(),
};
