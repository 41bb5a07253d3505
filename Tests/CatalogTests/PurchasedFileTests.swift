import CatalogService
import Foundation
import Logging
import ObjectStore
import ParseProtocol
import Platform
import ServiceSupport
import Testing

/// The private files of in-app products.
@Suite struct PurchasedFileTests {
    @Test func aLostFileKeepsNoOtherPublic() async throws {
        let sandbox = try await SandboxStore(catalogPlan(.standard))
        let path = FileManager.default.temporaryDirectory.path + "/satchel-files-\(Names.random(10))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let home = FileStorage(
            store: sandbox.store, folder: FileFolder(dataDirectory: path), bucket: nil,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let content = Array("content".utf8)
        let ids = ["product001", "product002"]
        for id in ids {
            let name = FileNames.storedName("\(id).pdf")
            let entry = FileTable.Entry(name: name, contentType: "application/pdf", size: content.count)
            if id != ids[0] { _ = try await home.keep(content, for: entry, share: nil) }
            let product: JSON = ["download": ["__type": "File", "name": .string(name)]]
            try await sandbox.store.write { transaction in
                try FileTable.add(entry, in: transaction)
                _ = try transaction.create("_Product", product, objectId: id, caller: .master)
            }
        }
        let code = await parseCode { try await PurchasedFiles(home: home).convert() }
        #expect(code == 130)
        var arePrivate: [Bool] = []
        for id in ids {
            let name = try await sandbox.document("_Product", id)["download"]?["name"]?.stringValue ?? ""
            arePrivate.append(FileNames.isPrivate(name))
        }
        #expect(arePrivate == [false, true])
    }
}
