const location = (id: number, name: string, city: string, country: string, network_zone: string) => ({
  id,
  name,
  description: `${city} DC Park 1`,
  country,
  city,
  latitude: 50.47612,
  longitude: 12.370071,
  network_zone,
});

export const HETZNER_LOCATIONS = [
  location(1, "fsn1", "Falkenstein", "DE", "eu-central"),
  location(2, "nbg1", "Nuremberg", "DE", "eu-central"),
  location(3, "hel1", "Helsinki", "FI", "eu-central"),
  location(4, "ash", "Ashburn, VA", "US", "us-east"),
] as const;

const price = (net: string, gross: string) => ({ net, gross });
const priceAt = (place: string, monthly: string) => ({
  location: place,
  price_hourly: price("0.0060000000", "0.0071400000"),
  price_monthly: price(`${monthly}.0000000000`, `${monthly}.5700000000`),
  included_traffic: 21_990_232_555_520,
  price_per_tb_traffic: price("1.0000000000", "1.1900000000"),
});
const serverType = (id: number, name: string, fields: object = {}) => ({
  id,
  name,
  description: name.toUpperCase(),
  cores: 2,
  memory: 4.0,
  disk: 40,
  deprecated: false as boolean | null,
  deprecation: null,
  prices: [priceAt("fsn1", "3"), priceAt("ash", "4")],
  storage_type: "local",
  cpu_type: "shared",
  architecture: "x86",
  locations: [{ id: 1, name: "fsn1", deprecation: null }],
  ...fields,
});

export const HETZNER_SERVER_TYPES = [
  serverType(22, "cx22"),
  serverType(45, "cax11", { architecture: "arm" }),
  serverType(1, "cx11", {
    deprecated: true,
    deprecation: { announced: "2024-06-06T00:00:00+00:00", unavailable_after: "2024-09-06T00:00:00+00:00" },
  }),
];

const image = (id: number, fields: object = {}) => ({
  id,
  type: "system",
  status: "available",
  name: `ubuntu-${id}` as string | null,
  description: `Ubuntu ${id}`,
  image_size: null,
  disk_size: 5,
  created: "2024-04-25T13:26:27+00:00",
  os_flavor: "ubuntu",
  os_version: "24.04" as string | null,
  rapid_deploy: true,
  deprecated: null as string | null,
  deleted: null,
  labels: {},
  architecture: "x86",
  ...fields,
});

export const HETZNER_IMAGES = [
  image(161_547_269),
  image(161_547_270, { architecture: "arm" }),
  image(4_711, { name: "centos-7", os_flavor: "centos", os_version: "7", deprecated: "2024-01-01T00:00:00+00:00" }),
  image(9_000, { type: "snapshot", name: null, os_version: null, description: "before the move" }),
];
