/// What is stored is further than whoever drives it knows: a commit whose answer was lost has been made, as when the
/// database's leader died with it, or another process drove it meanwhile. What is stored counts.
package struct StepTaken: Error {}
