/** Limit of a DNS label. */
const LABEL_LENGTH_MAX = 63;

/**
 * Lower-case letters, digits and single dashes: fit for one label of a host name. Accents go, other scripts too.
 *
 * @returns An empty text when nothing is left.
 */
export function slug(text: string, lengthMax: number = LABEL_LENGTH_MAX): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, lengthMax)
    .replace(/-+$/, "");
}
