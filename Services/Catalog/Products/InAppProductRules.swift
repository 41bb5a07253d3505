import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of in-app products, `_Product`: each has the fields that an app displays (PARSE_PROTOCOL section 8).
struct InAppProductRules: ClassRules {
    let files: PurchasedFiles
    let preparesFiles = true

    private static let required = ["productIdentifier", "icon", "order", "title", "subtitle"]

    func prepare(_ change: inout ProposedChange) async throws { try await files.prepare(&change) }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        guard let product = outcome.after else { return }
        try files.record(change, of: product, in: transaction)
        files.answer(change, &outcome)
        for field in Self.required where product[field]?.isNull ?? true {
            throw ParseError(.incorrectType, "\(field) is required.")
        }
        guard let identifier = product["productIdentifier"] else { return }
        let same = Query(className: "_Product", where: ["productIdentifier": identifier])
        guard try transaction.count(same, caller: .master) == 1 else {
            throw ParseError(.duplicateValue, "There is a product of that productIdentifier already.")
        }
    }
}
