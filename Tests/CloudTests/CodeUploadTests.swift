import CloudService
import ParseProtocol
import Testing

/// The files that `deployCloudCode` accepts for a version.
@Suite struct CodeUploadTests {
    @Test func filesAreTakenByTheirPaths() throws {
        let upload = try CodeUpload([
            "files": ["main.js": "require('cloud/lib/a')", "lib/a.js": "", "node_modules/b/index.js": "b"]
        ])
        #expect(upload.files.map(\.path) == ["lib/a.js", "main.js", "node_modules/b/index.js"])
        #expect(upload.files.map(\.text) == ["", "require('cloud/lib/a')", "b"])
    }

    @Test(arguments: [
        "", "/etc/passwd", "../main.js", "lib/../../a.js", "lib//a.js", "lib/", "./a.js", ".hidden.js", "lib/.git/a",
        "a\\b.js", "a\nb.js", "a\0.js", String(repeating: "a", count: 201),
        Array(repeating: "a", count: 13).joined(separator: "/"),
    ])
    func aPathStaysInItsFolder(_ path: String) {
        let error = #expect(throws: ParseError.self) {
            try CodeUpload(["files": .object(["main.js": "", path: ""])])
        }
        #expect(error?.code == .validationError)
    }

    @Test(
        arguments: [
            [:], ["files": "main.js"], ["files": [:]], ["files": ["lib.js": ""]], ["files": ["main.js": 1]],
            ["files": ["main.js": "", "lib": "", "lib/a.js": ""]],
            ["files": ["main.js": .string(String(repeating: "a", count: CodeUpload.contentBytesMax + 1))]],
        ] as [JSON])
    func whatIsNoVersionIsRefused(_ parameters: JSON) {
        let error = #expect(throws: ParseError.self) { try CodeUpload(parameters) }
        #expect(error?.code == .validationError)
    }

    @Test func thereIsAnEndOfFiles() {
        var files: [String: JSON] = ["main.js": ""]
        for number in 0..<CodeUpload.filesMax { files["\(number).js"] = "" }
        let error = #expect(throws: ParseError.self) { try CodeUpload(["files": .object(files)]) }
        #expect(error?.message.contains("1000 files") == true)
    }
}
