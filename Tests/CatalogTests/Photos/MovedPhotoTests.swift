import CatalogService
import Messages
import ParseProtocol
import ServiceSupport
import Testing

/// Photos of another server's products.
@Suite struct MovedPhotoTests {
    @Test func aMoveLeavesAPhotoAsItIs() async throws {
        let sandbox = try await SandboxStore(catalogPlan(.standard))
        let photo: JSON = ["__type": "File", "name": "0123456789abcdef0123456789abcdef_serum.jpg"]
        let product: JSON = ["name": "Serum", "unitPrice": 3.5, "fullsizeImage": photo]
        let mover = Principal.with {
            $0.master = true
            $0.maintenance = true
        }
        // The file comes later, or never.
        try await sandbox.apply(.create, "Product", "moved00001", product, imported: true, as: mover)
        let stored = try await sandbox.document("Product", "moved00001")
        #expect(stored["fullsizeImage"]?["name"] == photo["name"])
        #expect(stored["thumbnail"] == nil)
        let importer = Principal.with { $0.master = true }
        let code = await parseCode {
            try await sandbox.apply(.create, "Product", "moved00002", product, imported: true, as: importer)
        }
        #expect(code == 150, "An import makes the pictures.")
    }
}
