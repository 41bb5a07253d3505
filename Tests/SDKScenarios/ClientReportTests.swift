import ParseProtocol
import TestSupport
import Testing

/// Events, crash reports and files as mobile SDKs send them.
@Suite struct ClientReportTests {
    @Test func anEventMayHaveAnyNameAndManyDimensions() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = "Added to bag \(Names.random(8)) ä"
        let pairs = "abcdefghij".map { #""\#($0)":"1""# }.joined(separator: ",")
        let path = "/events/\(Wire.escaped(name))"
        let answer = try await client.send(
            .POST, path, headers: client.credentials,
            body: Array(
                #"{"at":{"__type":"Date","iso":"2016-01-02T03:04:05.678Z"},"name":"x","dimensions":{\#(pairs)}}"#.utf8))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json == [:], "\(answer.text)")
        let kept = try await Customer.admin(suite).run("analyticsEvents", ["name": .string(name)])
        let names = kept.result.at(0, "dimensions")?.objectValue?.keys.sorted()
        #expect(names == ["a", "b", "c", "d", "e", "f", "g", "h"], "\(kept.text)")
    }

    @Test func aCrashReportIsKeptByTheCrashService() async throws {
        let suite = try await Suite.shared
        let reason = "SIGSEGV \(Names.random(12))"
        let client = ParseClient(suite)
        let report: JSON = [
            "at": ["__type": "Date", "iso": "2016-01-02T03:04:05.678Z"],
            "breakpadDump": ["reason": .string(reason), "app_version": "7.3"],
        ]
        let answer = try await client.call(.POST, "/events/_CrashReport", report)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json == [:], "\(answer.text)")
        let issues = try await Customer.admin(suite).run("crashIssues", ["projectId": "1", "release": "7.3"])
        #expect(issues.text.contains("CrashReport"), "\(issues.text)")
        #expect(try await client.call(.POST, "/events/_CrashReport", [1]).code == 107)
    }

    @Test(arguments: [
        nil, "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded; charset=utf-8",
    ])
    func aFileWithoutAStatedTypeIsTaken(_ type: String?) async throws {
        let client = try await Customer.signUp(try await Suite.shared).client
        let bytes = Array("a=b&{\"not\":json".utf8)
        for (name, kept, contentType) in [
            ("photo.jpg", "_photo.jpg", "image/jpeg"), ("file", "_file.bin", "application/octet-stream"),
        ] {
            let answer = try await client.upload(bytes, as: name, type: type)
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.json.text("name").hasSuffix(kept), "\(answer.text)")
            let download = try await client.download(client.path(of: answer.json.text("name")))
            #expect(download.body == bytes)
            #expect(download.headers.first(name: "content-type") == contentType)
        }
        for (name, type) in [("a.3gp", "video/3gpp"), ("a.caf", "audio/x-caf"), ("a.vcf", "text/vcard")] {
            #expect(try await client.upload(bytes, as: name, type: type).status == 201, "\(name)")
        }
        #expect(try await client.upload(bytes, as: "a.svg", type: type).code == 130)
        #expect(try await client.upload(bytes, as: "a.dwg", type: type).code == 130)
    }

    @Test func anOperatorsFileTypeIsTaken() async throws {
        let client = try await Customer.signUp(try await ClientSuites.proxied.suite).client
        #expect(try await client.upload([1, 2], as: "plan.dwg", type: nil).status == 201)
        #expect(try await client.upload([1, 2], as: "plan.dwx", type: nil).code == 130)
    }

    @Test func aFileIsDeletedByThePathOfItsURL() async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        let name = try await client.upload([1, 2], as: "a.bin", type: nil).json.text("name")
        let master = ParseClient.master(suite)
        #expect(try await client.call(.DELETE, "/files/satchel/\(name)").status == 403)
        #expect(try await master.call(.DELETE, "/files/other/\(name)").status == 403)
        #expect(try await client.download(client.path(of: name)).status == 200)
        let deleted = try await master.call(.DELETE, "/files/satchel/\(name)")
        #expect(deleted.status == 200, "\(deleted.text)")
        #expect(deleted.json == [:], "\(deleted.text)")
        #expect(try await client.download(client.path(of: name)).status == 404)
    }
}
