import { type CloudServer, startCloudServer } from "./cloud-server.ts";

/** DigitalOcean's account API with the documented answers. @param token The only valid token. */
export const startDigitalOcean = (token: string): Promise<CloudServer> =>
  startCloudServer((request) => {
    if (request.token !== token) {
      return { status: 401, body: { id: "unauthorized", message: "Unable to authenticate you" } };
    }
    if (request.name !== "GET /account") {
      return { status: 404, body: { id: "not_found", message: "The resource you requested could not be found." } };
    }
    return { status: 200, body: { account: { uuid: "b6fr89dbf6d9156cace5f3c78dc9851d957381ef", status: "active" } } };
  });
