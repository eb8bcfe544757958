import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const created = (name: string) =>
  createdApplication(api, { name, domains: `https://${name}.example`, is_preview_deployments_enabled: true });

describe("previews of pull requests", () => {
  test("[S65] are made by a deployment, listed by page and deleted", async () => {
    const uuid = await created("shop");
    for (const query of ["pr=7", "pull_request_id=8", "pull_request_id=9&pr=10"]) {
      const { status, json } = await api.ask("POST", `/deploy?uuid=${uuid}&${query}`);
      expect([status, json.deployments[0].message]).toEqual([200, "Application shop deployment queued."]);
    }
    const all = await api.ask("GET", `/applications/${uuid}/previews`);
    expect(all.json.map(({ pull_request_id }: { pull_request_id: number }) => pull_request_id)).toEqual([7, 8, 9]);
    expect(all.json[0]).toEqual({
      id: expect.any(Number),
      uuid: expect.any(String),
      application_id: expect.any(Number),
      pull_request_id: 7,
      pull_request_html_url: "",
      pull_request_issue_comment_id: null,
      fqdn: "https://7.shop.example",
      urls: ["https://7.shop.example:8000"],
      status: "exited:unhealthy",
      git_type: null,
      docker_compose_domains: null,
      docker_registry_image_tag: null,
      last_online_at: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      deleted_at: null,
    });
    const page = await api.ask("GET", `/applications/${uuid}/previews?skip=1&take=1`);
    expect([page.json.length, page.json[0].pull_request_id, page.headers["x-total-count"]]).toEqual([1, 8, "3"]);

    const deleted = await api.ask("DELETE", `/applications/${uuid}/previews/7`);
    const { message, job_uuid } = deleted.json;
    expect([deleted.status, message]).toEqual([200, "Preview deletion request queued."]);
    expect((await api.ask("GET", `/jobs/${job_uuid}`)).json).toMatchObject({
      type: "preview.delete",
      status: "queued",
      subject_type: "preview",
      subject_uuid: all.json[0].uuid,
      subject_name: expect.stringMatching(/, pull request 7$/),
    });
    expect((await api.ask("GET", `/applications/${uuid}/previews`)).json[0]).toMatchObject({
      status: "removing:unhealthy",
      deleted_at: expect.any(String),
    });
  });

  test.each(["0", "-1", "seven", "1.5", "99999999999"])("answers 422 for the number %s", async (number) => {
    const uuid = await created(`wrong${number.replace(/\W/g, "x")}`);
    const { status, json } = await api.ask("DELETE", `/applications/${uuid}/previews/${number}`);
    expect([status, json.errors]).toEqual([422, { pull_request_id: ["Invalid pull_request_id."] }]);
  });

  test("answers 404 for one that is not there, and 409 where its URL is taken", async () => {
    const uuid = await created("plain");
    const missing = await api.ask("DELETE", `/applications/${uuid}/previews/7`);
    expect([missing.status, missing.json.message]).toEqual([404, "Preview not found."]);
    await createdApplication(api, { domains: "https://7.plain.example" });
    const { status, json } = await api.ask("POST", `/deploy?uuid=${uuid}&pr=7`);
    expect([status, json.code, json.conflicts[0].domain]).toEqual([409, "domain.conflict", "7.plain.example"]);
  });

  test("take no template that gives two pull requests one URL", async () => {
    const uuid = await created("template");
    const body = { preview_url_template: "preview.example" };
    const { status, json } = await api.ask("PATCH", `/applications/${uuid}`, { body });
    expect([status, Object.keys(json.errors)]).toEqual([422, ["preview_url_template"]]);
  });
});
