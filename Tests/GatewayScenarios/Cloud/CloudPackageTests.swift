import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The package `parse` in the code's folder replaces Satchel's own SDK. These tests use a double of the package.
@Suite struct CloudPackageTests {
    private static let code = """
        Parse.Cloud.define('hello', () => [Parse.isDouble, require('parse/node') === Parse]);
        Parse.Cloud.define('secret', async (request) => {
          const found = (options) => new Parse.Query('PackageSecret').find(options);
          const refused = await found().catch((error) => error instanceof Parse.Error && error.code);
          const mine = await found({ sessionToken: request.user.getSessionToken() });
          return [refused.length, mine.length, (await found({ useMasterKey: true })).length];
        });
        Parse.Cloud.define('batch', async () => {
          const notes = [1, 2].map((size) => new Parse.Object('PackageNote', { size }));
          return (await Parse.Object.saveAll(notes, { useMasterKey: true })).map((one) => !!one.success.objectId);
        });
        Parse.Cloud.beforeSave('PackageNote', ({ object }) => {
          if (object.get('size') > 10) throw new Parse.Error(9010, 'Too large.');
          object.increment('size');
          object.revert('wish');
        });
        Parse.Cloud.afterFind('PackageNote', ({ objects }) => {
          for (const object of objects) object.set('seen', objects.length);
        });
        """

    @Test func itsObjectsAndRequestsReachTheSuite() async throws {
        let double = try String(
            contentsOfFile: "\(checkoutDirectory)/Tests/CloudRuntime/doubles/parse.js", encoding: .utf8)
        let suite = try await CloudSuite.start(files: [
            "main.js": Self.code, "node_modules/parse/package.json": #"{"name":"parse"}"#,
            "node_modules/parse/node.js": double,
        ])
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        #expect(try await client.run("hello").result == [true, true])

        let saved = try await client.create("PackageNote", ["size": 1, "wish": 1])
        #expect(saved.status == 201, "\(saved.text)")
        let note = try await master.get("/classes/PackageNote/\(saved.objectId)")
        #expect(note["size"] == 2)
        #expect(note["wish"] == nil, "The code took it back.")
        #expect(note["seen"] == 1)
        let refused = try await client.create("PackageNote", ["size": 11])
        #expect(refused.code == 9010)
        #expect(try await client.run("batch").result == [true, true])
        let count = try await master.find("PackageNote").results.count
        #expect(count == 3)

        let ann = try await Customer.signUp(suite)
        for acl: JSON in [[:], .object([ann.userId: ["read": true, "write": true]])] {
            #expect(try await master.create("PackageSecret", ["ACL": acl]).status == 201)
        }
        #expect(try await ann.client.run("secret").result == [0, 1, 2])
        await suite.stop()
    }
}
