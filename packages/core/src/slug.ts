/** Limit of a DNS label. */
const LABEL_LENGTH_MAX = 63;

/**
 * Lower-case letters, digits and single dashes, as in a label of a host name. Accents and other scripts are dropped.
 *
 * @returns An empty text if nothing is left.
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
