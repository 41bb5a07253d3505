import ObjectStore
import ParseProtocol
import ServiceKit

/// Customers' reports of reviews for admins. A customer reports a review once. An admin's decision closes the open
/// reports, and only reports by other customers can reopen the matter.
package enum ReviewReports {
    package static func add(_ reviewId: String, by userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO reviewReports(reviewId, userId, reportedAt, isOpen) VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING
            """,
            [.text(reviewId), .text(userId), .int(transaction.now.milliseconds)])
    }

    /// Puts a hidden review that its author changed back into the admins' queue.
    static func submitAgain(_ reviewId: String, by author: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            """
            INSERT INTO reviewReports(reviewId, userId, reportedAt, isOpen) VALUES (?, ?, ?, 1)
            ON CONFLICT(reviewId, userId) DO UPDATE SET reportedAt = excluded.reportedAt, isOpen = 1
            """, [.text(reviewId), .text(author), .int(transaction.now.milliseconds)])
    }

    static func settle(_ reviewId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("UPDATE reviewReports SET isOpen = 0 WHERE reviewId = ?", [.text(reviewId)])
    }

    /// Removes the reports about a deleted review.
    static func forget(review reviewId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM reviewReports WHERE reviewId = ?", [.text(reviewId)])
    }

    /// Removes the reports by a deleted user.
    static func forget(user userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM reviewReports WHERE userId = ?", [.text(userId)])
    }

    /// The reviews with open reports, last reported first, each with `reports`, their number, and `lastReportedAt`.
    static func open(limit: Int64, in reader: ObjectReader) throws -> [JSON] {
        let rows = try reader.rows(
            """
            SELECT reviewId, count(*), max(reportedAt) AS last FROM reviewReports
            WHERE \(reader.dialect.flag("isOpen"))
            GROUP BY reviewId ORDER BY last DESC, reviewId LIMIT ?
            """, [.int(limit)])
        let reviews = try reader.fetch("ProductReview", ids: try rows.map { try $0.text(0) }, keys: [], caller: .master)
        let documents = Dictionary(reviews.map { ($0.objectId, $0.document) }) { first, _ in first }
        return try rows.compactMap { row in
            guard let document = try documents[row.text(0)] else { return nil }
            var review = try JSON(parsing: document).parseObject(of: "ProductReview")
            review["reports"] = try .int(row.int(1))
            review["lastReportedAt"] = try Timestamp(milliseconds: row.int(2)).wire
            return review
        }
    }

    /// The number of reviews with open reports.
    static func openCount(in reader: ObjectReader) throws -> Int64 {
        try reader.rows(
            "SELECT count(DISTINCT reviewId) AS reviews FROM reviewReports WHERE \(reader.dialect.flag("isOpen"))"
        ).first?.int("reviews") ?? 0
    }
}
