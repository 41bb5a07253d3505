import ObjectStore
import Testing

/// Which engine failures are temporary trouble. Clients then learn that the request had no effect.
@Suite struct StorageTroubleTests {
    @Test(arguments: [
        ("53100", StorageTrouble.full), ("53200", .short), ("53400", .short), ("58030", .failing), ("57P03", .away),
        ("53300", .away), ("25006", .away), ("08006", .away),
    ])
    func aServersTroublePasses(state: String, trouble: StorageTrouble) {
        #expect(StorageTrouble(StoreError(sqlState: state, message: "")) == trouble)
    }

    @Test(arguments: ["42601", "23505", "40001", "22P02", "XX000"])
    func whatIsWrongWithAStatementDoesNot(state: String) {
        #expect(StorageTrouble(StoreError(sqlState: state, message: "")) == nil)
    }

    @Test(arguments: [
        (Int32(13), StorageTrouble.full), (10, .failing), (14, .failing), (266, .failing), (8, .readOnly),
        (1032, .readOnly), (3, .forbidden), (11, .damaged), (26, .damaged),
    ])
    func aFilesTroublePasses(code: Int32, trouble: StorageTrouble) {
        #expect(StorageTrouble(StoreError(resultCode: code, message: "")) == trouble)
    }
}
