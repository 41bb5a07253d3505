import CloudService
import Foundation
import ParseProtocol
import ProcessKit
import Testing

/// The environment variables that code gets, and the names of missing ones that it mentions.
@Suite struct CodeEnvironmentTests {
    private static let variables = [
        "PATH": "/bin", "SATCHEL_MASTER_KEY": "m", "SATCHEL_STRIPE_SECRET_KEY": "s", "AWS_SECRET": "a", "ERP_KEY": "e",
        "LANG": "C", "SUPERVISOR_SERVER_URL": "u",
    ]

    private static func environment(_ names: String? = nil) throws -> CodeEnvironment {
        var variables = variables
        variables["SATCHEL_CLOUD_ENV"] = names
        return try CodeEnvironment(Settings(variables))
    }

    @Test func codeGetsAListOfVariablesAndThoseThatAreNamed() throws {
        #expect(try Self.environment().passed == ["LANG=C", "PATH=/bin"])
        let named = try Self.environment("ERP_KEY, SATCHEL_STRIPE_SECRET_KEY")
        #expect(named.passed == ["ERP_KEY=e", "LANG=C", "PATH=/bin", "SATCHEL_STRIPE_SECRET_KEY=s"])
        for wrong in ["ERP-KEY", "1A", "A=b", "*"] {
            #expect(throws: StartupProblem.self) { try Self.environment(wrong) }
        }
    }

    @Test func mentionsAreFoundInEachForm() {
        let code = """
            const key = process.env.ERP_KEY || process.env['AWS_SECRET'] + process.env?.THIRD; f(process.env["Q_1"]);
            const { A, B: other, C = 'x' } = process.env;
            const { D } = config; const all = process.env; module.exports = { E };
            """
        #expect(
            CodeEnvironment.mentions(in: Data(code.utf8)) == ["ERP_KEY", "AWS_SECRET", "THIRD", "Q_1", "A", "B", "C"])
    }

    @Test func whatCodeMissesIsNamed() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "code-\(Names.random(12))")
        let module = folder.appending(path: "node_modules/aws")
        try FileManager.default.createDirectory(at: module, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("process.env.ERP_KEY; process.env.PATH; process.env.UNSET".utf8).write(
            to: folder.appending(path: "main.js"))
        try Data("process.env.AWS_SECRET".utf8).write(to: module.appending(path: "index.cjs"))
        try Data("process.env.SUPERVISOR_SERVER_URL".utf8).write(to: module.appending(path: "README.md"))
        #expect(try Self.environment().missed(byCodeIn: folder.path) == ["AWS_SECRET", "ERP_KEY"])
        #expect(try Self.environment("ERP_KEY").missed(byCodeIn: folder.path) == ["AWS_SECRET"])
    }
}
