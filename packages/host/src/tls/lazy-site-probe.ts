/** Loaded with the first URL that is checked. */
const library = () => import("./site-probe.ts");
type Library = Awaited<ReturnType<typeof library>>;

export const addressesOf: Library["addressesOf"] = async (...given) => (await library()).addressesOf(...given);

export const presentedCertificate: Library["presentedCertificate"] = async (by) =>
  (await library()).presentedCertificate(by);
