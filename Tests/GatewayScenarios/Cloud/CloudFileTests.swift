import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Triggers of files and of Config in JavaScript.
@Suite struct CloudFileTests {
    private static let code = """
        Parse.Cloud.define('hello', () => 'hello');
        Parse.Cloud.define('fetched', ({ params }) => Parse.Hooks.sendRequest('GET', params.path));
        const master = { useMasterKey: true };
        Parse.Cloud.beforeSave(Parse.File, async ({ file, fileSize, user }) => {
          const name = file.name();
          if (name === 'refused.txt') throw new Parse.Error(9002, 'Not this one.');
          if (name === 'broken.txt') throw new Error('It broke.');
          if (name === 'stored.txt') {
            return Parse.File.fromJSON({ __type: 'File', name: 'other.txt', url: 'https://cdn.example/other.txt' });
          }
          if (name === 'typed.txt') return new Parse.File('typed.exe', { base64: 'aGk=' }, 'application/x-msdownload');
          if (name === 'upper.txt') {
            const text = Buffer.from(await file.getData(), 'base64').toString().toUpperCase();
            return new Parse.File('changed.txt', { base64: Buffer.from(text).toString('base64') }, 'text/plain');
          }
          file.addMetadata('size', fileSize);
          file.addTag('by', user ? 'user' : 'nobody');
        });
        Parse.Cloud.afterSave(Parse.File, ({ file }) =>
          new Parse.Object('FileHeard').save({ name: file.name(), url: file.url() }, master));
        Parse.Cloud.beforeDelete(Parse.File, ({ file }) => {
          if (file.name().endsWith('kept.txt')) throw new Parse.Error(9003, 'It is kept.');
        });
        Parse.Cloud.afterDelete(Parse.File, ({ file }) =>
          new Parse.Object('FileGone').save({ name: file.name() }, master));
        Parse.Cloud.beforeSave(Parse.Config, ({ object, original }) => {
          if (object.get('limit') > 100) throw new Parse.Error(9004, 'Too much.');
          if (!object.get('odd')) return;
          const config = new Parse.Config();
          config.attributes = { limit: 7, before: original ? original.get('limit') : 0 };
          return config;
        });
        Parse.Cloud.afterSave(Parse.Config, ({ object, original }) => {
          const was = original ? original.get('limit') : 0;
          return new Parse.Object('ConfigHeard').save({ now: object.get('limit'), was }, master);
        });
        """

    private static var suite: Suite { get async throws { try await shared.value } }
    private static let shared = Task {
        try await CloudSuite.start(code, settings: ["SATCHEL_FILE_UPLOAD": "public"])
    }

    private func upload(
        _ name: String, _ text: String = "hi", by client: ParseClient
    ) async throws
        -> ParseClient.Answer
    {
        try await client.upload(Array(text.utf8), as: name, type: "text/plain")
    }

    @Test func anUploadIsWhatTheCodeMakesOfIt() async throws {
        let suite = try await Self.suite
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let plain = try await upload("plain.txt", by: client)
        #expect(plain.status == 201, "\(plain.text)")
        let name = plain.json.text("name")
        let known = try await client.download("/files/satchel/metadata/\(name)")
        #expect(known["metadata"] == ["size": 2], "\(known.text)")
        #expect(known["tags"] == ["by": "nobody"])
        try await eventually("afterSave heard of it") {
            try await master.find("FileHeard", ["name": .string(name)]).results.first?["url"] == plain["url"]
        }

        let changed = try await upload("upper.txt", by: client)
        #expect(changed.json.text("name").hasSuffix("_changed.txt"), "\(changed.text)")
        let content = try await client.download(client.path(of: changed.json.text("name")))
        #expect(content.text == "HI")

        let elsewhere = try await upload("stored.txt", by: client)
        #expect(elsewhere.json == ["name": "other.txt", "url": "https://cdn.example/other.txt"])
    }

    @Test func anUploadThatTheCodeRefusesIsNotStored() async throws {
        let client = ParseClient(try await Self.suite)
        let refused = try await upload("refused.txt", by: client)
        #expect(refused.code == 9002)
        #expect(refused["error"] == "Not this one.")
        let broken = try await upload("broken.txt", by: client)
        #expect(broken.code == 130)
        #expect(broken["error"] == "It broke.")
        let typed = try await upload("typed.txt", by: client)
        #expect(typed.code == 130, "What the code makes of a file is no freer than a client: \(typed.text)")
    }

    @Test func aFileIsDeletedUnlessTheCodeRefuses() async throws {
        let suite = try await Self.suite
        let master = ParseClient.master(suite)
        let kept = try await upload("kept.txt", by: master).json.text("name")
        #expect(try await master.call(.DELETE, "/files/\(kept)").code == 9003)
        #expect(try await master.download(master.path(of: kept)).status == 200)
        let other = try await upload("other.txt", by: master).json.text("name")
        #expect(try await master.call(.DELETE, "/files/\(other)").status == 200)
        try await eventually("afterDelete heard of it") {
            try await master.find("FileGone", ["name": .string(other)]).results.count == 1
        }
    }

    /// An answer to code is JSON.
    @Test func theCodeDownloadsNoFile() async throws {
        let client = ParseClient(try await Self.suite)
        let name = try await upload("plain.txt", by: client).json.text("name")
        for _ in 0..<2 {
            let answer = try await client.run("fetched", ["path": .string("/files/satchel/\(name)")])
            #expect(answer["error"] == "Cloud code cannot download files.", "\(answer.text)")
        }
    }

    /// A picture of more bytes than an event loop sends is no text either.
    @Test func theCodeDownloadsNoPicture() async throws {
        let client = ParseClient(try await Self.suite)
        let folder = FileManager.default.temporaryDirectory.path + "/satchel-noise-\(Names.random(10))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for command in [
            ["gaussnoise", "\(folder)/n.v", "700", "700", "--mean", "128"],
            ["cast", "\(folder)/n.v", "\(folder)/n.png", "uchar"],
        ] { _ = try await Command.run(["/usr/bin/env", "vips"] + command) }
        let content = try #require(FileManager.default.contents(atPath: "\(folder)/n.png"))
        let stored = try await client.upload(Array(content), as: "noise.png", type: "image/png")
        let path = "/files/satchel/width/1280/\(stored.json.text("name"))"
        #expect(try await client.download(path).body.count > 256 << 10)
        let answer = try await client.run("fetched", ["path": .string(path)])
        #expect(answer["error"] == "Cloud code cannot download files.", "\(answer.text.prefix(200))")
    }

    @Test func aChangeOfConfigIsWhatTheCodeMakesOfIt() async throws {
        let suite = try await Self.suite
        let master = ParseClient.master(suite)
        #expect(try await master.call(.PUT, "/config", ["params": ["limit": 5]]).status == 200)
        let refused = try await master.call(.PUT, "/config", ["params": ["limit": 500]])
        #expect(refused.code == 9004)
        #expect(refused["error"] == "Too much.")
        #expect(try await master.get("/config")["params"] == ["limit": 5])
        #expect(try await master.call(.PUT, "/config", ["params": ["limit": 6, "odd": true]]).status == 200)
        #expect(try await master.get("/config")["params"] == ["limit": 7, "before": 5])
        // The code returns a new Config that does not mention which parameters are hidden.
        let hidden: JSON = ["params": ["limit": 6, "odd": true], "masterKeyOnly": ["before": true]]
        #expect(try await master.call(.PUT, "/config", hidden).status == 200)
        #expect(try await ParseClient(suite).get("/config")["params"] == ["limit": 7])
        try await eventually("afterSave heard of both") {
            let heard = try await master.find("ConfigHeard", [:]).results
            return heard.contains { $0["now"] == 5 && $0["was"] == 0 }
                && heard.contains { $0["now"] == 7 && $0["was"] == 5 }
        }
    }
}
